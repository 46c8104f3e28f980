"""`hitledger size`: options to a question, the question to a report, the report to lines."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from hitledger.errors import UsageError
from hitledger_replay.claims import check_claim, parse_bytes
from hitledger_replay.dtypes import kv_dtype as find_dtype
from hitledger_replay.modelconfig import read_spec
from hitledger_replay.sizereport import SizeQuestion, size_report
from hitledger_replay.sizing import Layout

MAX_FORKED = 1 << 26
"""Tokens that all forks together may copy; some seconds."""


def run(
    config: str,
    *,
    tokens: int,
    sequences: int,
    tp: int,
    kv_dtype: str,
    block_size: int,
    alignment: int,
    memory: str,
    weights: str,
    workspace: str,
    on_device: float,
    samples: int,
    beams: int,
    generated: int,
    claim: str,
) -> dict[str, Any]:
    """Answer by the options of the command line, by their names; sizes are text such as "80GB", "" for none given.

    Raises UsageError for a size or number that is none.
    """
    spec = read_spec(config)
    if block_size < 1 or alignment < 1:
        raise UsageError("the block size and the alignment must be at least 1")
    question = SizeQuestion(
        tokens,
        sequences,
        tp,
        memory_bytes=parse_bytes(memory) if memory else None,
        weight_bytes=parse_bytes(weights) if weights else None,
        device_share=on_device,
    )
    layout = Layout(block_size, alignment, parse_bytes(workspace) if workspace else 0)
    report = size_report(spec, find_dtype(kv_dtype or spec.dtype), layout, question)
    report["sharing"] = list(_sharing(tokens, block_size, samples, beams, generated))
    if claim:
        check = check_claim(claim, report["logical_bytes"])
        report["claim"] = {"text": check.describe(), "ratio": check.ratio, "holds": check.holds}
    return report


def _sharing(tokens: int, block_size: int, samples: int, beams: int, generated: int) -> Iterator[dict[str, Any]]:
    """What continuations of one prompt share, found by forking it in the paged cache."""
    if not samples and not beams:
        return
    from hitledger_replay.simulation import sampling  # loads the whole cache, which nothing else here needs

    if min(samples, beams) < 0 or generated < 1 or max(samples, beams) * generated * (tokens + generated) > MAX_FORKED:
        raise UsageError(f"continuations * generated * all tokens of one must be from 1 to {MAX_FORKED}")
    names = {"prompt_tokens": tokens, "output_tokens": generated}
    if samples:
        found = sampling.parallel_sampling(tokens, generated, samples, block_size)
        yield {"way": "parallel", "continuations": samples, **names, **asdict(found), "saving": found.saving}
    if beams:
        found = sampling.beam_search(tokens, sampling.drawn_parents(beams, generated), block_size)
        yield {"way": "beam", "continuations": beams, **names, **asdict(found), "saving": found.saving}


def lines(report: dict[str, Any]) -> Iterator[str]:
    """What is printed."""
    ranks = report["tensor_parallel"]
    yield f"{report['model']} ({report['model_type']}), KV cache in {report['kv_dtype']}"
    for group in report["layers"]:
        window = f", last {group['window']:,} tokens" if group["window"] else ""
        state = f", {group['state_bytes']:,} bytes a sequence" if group["state_bytes"] else ""
        yield f"  {group['num_layers']} layers {group['kind']}: {group['bytes_per_token_per_layer']:,} bytes a token{window}{state}"
    yield f"per token        {report['bytes_per_token']:>20,} bytes"
    if ranks > 1:
        copies = report["bytes_per_token_all_ranks"] / report["bytes_per_token"]
        yield f"per token, rank  {report['bytes_per_token_per_rank'][0]:>20,} bytes; {ranks} ranks hold {copies:g} copies"
    load = f"{report['sequences']:,} x {report['tokens']:,} tokens"
    yield f"logical          {report['logical_bytes']:>20,} bytes = {report['logical_bytes'] / 2**30:.2f} GiB for {load}"
    for name, value in report["physical"].items():
        yield f"  physical {name:<18}{value:>16,} bytes a rank"
    yield "levers           " + " x ".join(f"{lever['name']} {lever['factor']:.3g}" for lever in report["levers"])
    for way in report["sharing"]:
        blocks = f"{way['physical']:,} blocks instead of {way['logical']:,}, {way['copies']} copied"
        yield f"{way['way']:<17}{way['continuations']} x {way['output_tokens']} tokens: {blocks}; saves {way['saving']:.1%}"
    if report["capacity"]:
        yield from (f"  {name:<27}{value:>16,}" for name, value in report["capacity"].items())
    if "claim" in report:
        yield report["claim"]["text"]
    yield f"out of memory: {report['checklist']['oom_source']}; evidence: {report['checklist']['evidence']}"
