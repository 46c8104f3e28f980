"""What a hit saves, what contiguous memory wastes, what samples share: the documents' numbers, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitledger_replay.blockhash import CacheIdentity, root_hash
from hitledger_replay.cache import PagedCache
from hitledger_replay.prefill import (
    Mooncake,
    attention_flops,
    attention_pairs,
    ideal_speedup,
    linear_flops,
    overlapped_seconds,
    remaining_share,
    session_hit_rate,
)
from hitledger_replay.reservation import ReservePolicy, expected_tail_waste, paged, reserve
from hitledger_replay.sequence import Sequence
from hitledger_replay.simulation.sampling import beam_search, parallel_sampling


@given(st.integers(1, 60), st.data())
def test_pairs_are_counted_one_by_one(tokens: int, data: st.DataObject) -> None:
    cached = data.draw(st.integers(0, tokens))
    assert attention_pairs(tokens, cached) == sum(query + 1 for query in range(cached, tokens))


def test_a_hit_leaves_one_minus_h_squared() -> None:
    for hit in (0.0, 0.5, 0.9, 0.99):
        share = attention_pairs(10**6, int(hit * 10**6)) / attention_pairs(10**6, 0)
        assert share == pytest.approx(1 - hit**2, abs=1e-6)
    assert attention_flops(10, 4, 2, 3, 8) == 4 * 2 * 3 * 8 * (6 * 4 + 21)
    assert linear_flops(10, 4, 100, 8, 50) == 2 * 100 * 6 + 2 * 8 * 50


def test_mooncake_equations() -> None:
    """FAST'25: 6 GB/s on 8 A800 and 19 GB/s on 8 H800 for 8192 tokens; 92 % saved at 128k with a 95 % prefix."""
    model = Mooncake()
    assert round(model.break_even_bandwidth(8192, 8 * 312e12) / 1e9, 2) == 5.86
    assert round(model.break_even_bandwidth(8192, 8 * 989e12) / 1e9, 2) == 18.57
    assert round(model.saved_share(131_072, round(0.95 * 131_072)), 3) == 0.915
    shares = [round(model.attention_share(n), 3) for n in (2048, 8192, 32_768, 131_072)]
    assert shares == [0.043, 0.154, 0.421, 0.744]
    assert [round(remaining_share(0.9, share), 3) for share in shares] == [0.104, 0.114, 0.138, 0.167]


def test_speed_is_not_the_hit_rate() -> None:
    assert [round(ideal_speedup(rate), 1) for rate in (0.842, 0.885)] == [6.3, 8.7]
    assert round(ideal_speedup(0.55) / ideal_speedup(0.5), 2) == 1.11
    assert ideal_speedup(0.95) / ideal_speedup(0.9) == pytest.approx(2)
    assert overlapped_seconds(2.0, 1.0, 10) == 2.1


def test_append_only_session() -> None:
    """T turns: (T - 1) / (T + 1); 20 turns are 90.5 %. With a system prompt of 5 and 20 turns' size: .919 and .934."""
    hit, total = session_hit_rate(20)
    assert hit * 21 == total * 19
    rates = [hit / total for hit, total in (session_hit_rate(20, system) for system in (0, 5, 20))]
    assert [round(rate, 3) for rate in rates] == [0.905, 0.919, 0.934]


@pytest.mark.parametrize("turns", [2, 5, 20])
def test_the_pool_finds_what_session_algebra_says(turns: int) -> None:
    """Blocks of one token, prompts that grow by 7; the cap costs one token a turn only where nothing was added."""
    cache = PagedCache(10_000, 1)
    hit = total = 0
    for turn in range(1, turns + 1):
        seq = Sequence(str(turn), range(7 * turn), root=root_hash(CacheIdentity("m")), block_size=1)
        hit += cache.admit(seq).num_cached_tokens
        total += len(seq)
        cache.populate(seq, len(seq) - seq.num_computed_tokens)
        cache.free(seq)
    units = session_hit_rate(turns)
    assert (hit, total) == (7 * units[0], 7 * units[1])


def test_300_tokens_in_a_region_of_2048() -> None:
    held = reserve([(300, 300)], ReservePolicy.MAX, 2048)
    assert round(held.utilisation, 3) == 0.146
    assert (held.to_come, held.never, held.external) == (0, 1748, 0)


def test_three_wastes_by_hand() -> None:
    """Prompt 100 of 300 final tokens: rounded to 512 they waste 200 to come and 212 never; 1100 slots fit two."""
    held = reserve([(100, 300)] * 3, ReservePolicy.POW2, 2048, memory_tokens=1100)
    assert (held.live, held.to_come, held.never, held.external) == (200, 400, 424, 76)
    assert held.reserved == 1100
    assert reserve([(100, 300)], ReservePolicy.ORACLE, 2048).never == 0


def test_utilisation_of_20_to_38_percent_is_a_waste_of_62_to_80() -> None:
    assert [round(100 - used, 1) for used in (20.4, 38.2)] == [79.6, 61.8]


def test_block_size_and_tail_waste() -> None:
    """Mean lengths of 499 (ShareGPT-like) and 78 (Alpaca-like) tokens in blocks of 16 to 256."""
    sizes = (16, 32, 64, 128, 256)
    long, short = ([round(100 * expected_tail_waste(n, size), 1) for size in sizes] for n in (499, 78))
    assert long == [1.6, 3.1, 6.0, 11.4, 20.4]
    assert short == [9.3, 17.0, 29.1, 45.1, 62.1]
    lengths = list(range(1, 161))
    assert paged(lengths, 16).never / len(lengths) == 7.5  # (block_size - 1) / 2
    assert all(paged([n], 16).never < 16 for n in lengths)


def test_parallel_samples_share_the_prompt() -> None:
    """6 samples of 64 + 16 tokens: 4 shared blocks and one each instead of 5 each; nothing is copied."""
    shared = parallel_sampling(64, 16, 6)
    assert (shared.physical, shared.logical, shared.copies) == (10, 30, 0)
    inside = parallel_sampling(70, 5, 6)  # the prompt ends inside its fifth block: all but one sample copy it
    assert (inside.physical, inside.logical, inside.copies) == (4 + 6, 30, 5)


def test_beams_that_share_an_ancestor_share_its_blocks() -> None:
    """All beams descend from beam 0 every 16 steps: only the last stretch differs."""
    parents = [[0] * 4 if step % 16 == 0 else [0, 1, 2, 3] for step in range(48)]
    shared = beam_search(32, parents)
    assert (shared.physical, shared.logical) == (2 + 2 + 4, 4 * 5)
    assert round(shared.saving, 2) == 0.6


def test_hundred_sequences_share_one_system_prompt() -> None:
    """2000 shared tokens are 125 blocks once, and each sequence has a tail of one block."""
    cache = PagedCache(400)
    seqs = []
    for user in range(100):
        seq = Sequence(str(user), [*range(2000), 10_000 + user], root=root_hash(CacheIdentity("m")), block_size=16)
        cache.admit(seq)
        cache.populate(seq, len(seq) - seq.num_computed_tokens)
        seqs.append(seq)
    assert len({block for seq in seqs for block in seq.block_table}) == 125 + 100
    assert cache.stats.hits == 99 * 2000
