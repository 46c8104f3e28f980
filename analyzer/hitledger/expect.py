"""Walk the calls in time order through the caches of their rules: what was readable for each, and from where."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date

import msgspec
from msgspec.structs import replace

from hitledger.policies import message_ends
from hitledger.policies.blocks import BlockCache
from hitledger.policies.cache import Blocked, Cache, Forecast
from hitledger.policies.heads import Heads
from hitledger.policies.marked import MarkedCache
from hitledger.policies.radix import RadixCache
from hitledger.policies.rule import Algorithm, Basis, Rule
from hitledger.policies.rules import Rules, salts
from hitledger.policies.slot import SlotCache
from hitledger.policies.units import UnitCache
from hitledger.policies.view import Mark, PrefixHashes, Terms, View
from hitledger.positions import Positions
from hitledger.segments import in_order
from hitledger.thinking import ThinkingStripper
from hitledger.time_order import in_time_order
from hitledger.types import Call, Evidence, Parameter, Prompt, Tier

# Route fields that name another cache. A routing key only makes one more likely to be found, yet a new one starts cold.
KEY_FIELDS = frozenset({"account", "host", "upstream", "prompt_cache_key", "replica", "affinity"})

RECONSTRUCTED = Evidence.RECONSTRUCTED  # attributes of an enumeration are found slowly
NO_CACHE, BREAKPOINTS, MESSAGE_ENDS = Algorithm.NONE, Algorithm.BREAKPOINTS, Algorithm.MESSAGE_ENDS

SLACK_TOKENS, SLACK_SHARE = 16, 0.01  # a read this close to the expected one is explained by it


class Expectation(msgspec.Struct, frozen=True, gc=False):
    """What the rule says of one call."""

    rule: Rule
    view: View
    forecast: Forecast
    left: int  # tokens that the call left readable
    key: tuple[str, ...]
    blocked: Blocked | None  # a longer entry that was there but out of reach
    warmed: bool = False  # it read more than any logged call had left of its prompt: an unlogged call wrote that


class Forecaster:
    """One simulated cache for each key: provider, model, account and route."""

    def __init__(self, rules: Rules, positions: Positions, heads: Heads | None = None) -> None:
        """`heads`: what another run over the same sessions learned of their hidden parts."""
        self._rules = rules
        self._positions = positions
        self.heads = heads if heads is not None else Heads()
        self._hashes = PrefixHashes()
        self._caches: dict[tuple[str, ...], list[tuple[Algorithm, Cache]]] = {}
        self._strippers = ThinkingStripper()
        self._roots: dict[Prompt, Prompt] = {}
        self._known_terms: dict[tuple[str, str, tuple[Parameter, ...]], Terms] = {}

    def all(
        self,
        calls: Sequence[Call],
        predecessors: Sequence[int | None] | None = None,
        over: Callable[[Iterable[int]], Iterable[int]] = iter,
    ) -> list[Expectation | None]:
        """An expectation for each call, in the order given; None where no rule is known or the call was refused.

        What stood in the way is looked for only where less was read than the predecessor left, or with no predecessor.
        `over` is told of each call, twice, for who watches.
        """
        order, before = in_time_order(calls), predecessors or [None] * len(calls)
        views: list[View | None] = [None] * len(calls)
        for index in over(order):
            last = before[index]
            views[index] = self._view(calls[index], views[last] if last is not None else None)
        found: list[Expectation | None] = [None] * len(calls)
        for index in over(order):
            view, last = views[index], before[index]
            if view is not None:
                found[index] = self._next(view, index, found[last] if last is not None else None)
        return found

    def next(self, call: Call, index: int) -> Expectation | None:
        """The call that comes next in time."""
        view = self._view(call, None)
        return None if view is None else self._next(view, index, None)

    def _next(self, view: View, index: int, earlier: Expectation | None) -> Expectation:
        """`earlier`: what was expected of its predecessor."""
        call, rule = view.call, view.rule
        key, now, usage = key_of(call), call.started_at, call.usage
        if earlier is not None and earlier.key == key:
            key = earlier.key  # a large tree would hold 40,000 of them
        cache = self._cache(key, rule.algorithm)
        forecast = cache.forecast(view, now)
        read = usage.cache_read_tokens if usage is not None else None
        healthy = earlier is not None and read is not None and read >= earlier.left
        more = read is not None and read > forecast.read + SLACK_TOKENS
        blocked = None if healthy and not more else cache.blocked(view, now, forecast, more)
        left = cache.store(view, index, forecast)
        known = forecast.read if blocked is None else max(forecast.read, blocked.longest)
        warmed = read is not None and read > known + SLACK_TOKENS
        return Expectation(rule, view, forecast, left, key, blocked, warmed)

    def _cache(self, key: tuple[str, ...], algorithm: Algorithm) -> Cache:
        """Rules of one provider can differ in how they look things up, by day or by whether a request is marked."""
        caches = self._caches.get(key)
        if caches is None:
            caches = self._caches[key] = []
        for known, cache in caches:
            if known is algorithm:
                return cache
        caches.append((algorithm, MarkedCache(self.heads) if algorithm.writes_at_marks else CACHES[algorithm]()))
        return caches[-1][1]

    def _view(self, call: Call, last: View | None) -> View | None:
        """The call as its cache sees it; `last`: its predecessor. None where no rule is known or it was refused."""
        if call.status >= 400 or not call.prompt.length:
            return None
        terms = last.terms if last is not None and _alike(call, last.call) else self._terms(call)
        if terms is None:
            return None
        rule = terms.rule
        is_transcript = call.evidence is RECONSTRUCTED
        prompt = call.prompt if is_transcript else ordered(call, rule)
        if terms.strips:
            prompt = self._strippers.effective(call if prompt is call.prompt else replace(call, prompt=prompt))
        root = last.root if last is not None and prompt.base is last.prompt else self._root(prompt)
        same_head = last is not None and root is last.root and terms is last.terms
        head = last.head if last is not None and same_head else self._hashes.head(root, terms.salt, terms.whole_salt)
        given = () if is_transcript else marks_of(prompt, rule)
        at_ends = message_ends.written(call, prompt, rule, given) if rule.algorithm is MESSAGE_ENDS else None
        ttl = lifetime_of(call) or rule.default_lifetime if is_transcript and rule.algorithm is BREAKPOINTS else None
        tokens_at = self._positions.of(call, prompt, given if at_ends is None else at_ends)
        return View(
            call, prompt, rule, terms, self._hashes, tokens_at, given, ttl, at_ends, terms.whole_salt, root, head
        )

    def _root(self, prompt: Prompt) -> Prompt:
        passed: list[Prompt] = []
        node = prompt
        while node.base is not None and node not in self._roots:
            passed.append(node)
            node = node.base
        root = self._roots.get(node, node)
        self._roots.update(dict.fromkeys(passed, root))
        return root

    def _terms(self, call: Call) -> Terms | None:
        rule = rule_of(call, self._rules)
        if rule is None or rule.algorithm is NO_CACHE:
            return None
        key = (rule.id, call.model, call.parameters)
        found = self._known_terms.get(key)
        if found is None or found.rule is not rule:  # each log's engine hint is a rule of its own
            salt, model = salts(rule, call), call.model
            found = Terms(rule, salt, salt[rule.order[-1]], rule.minimum(model), rule.strips(model))
            self._known_terms[key] = found
        return found


CACHES: Mapping[Algorithm, Callable[[], Cache]] = {
    Algorithm.UNITS: UnitCache,
    Algorithm.BLOCKS: BlockCache,
    Algorithm.RADIX: RadixCache,
    Algorithm.SLOT: SlotCache,
}


def _alike(call: Call, last: Call) -> bool:
    """Whether two calls of a transcript meet the same rule in the same way: so do nearly all that follow each other."""
    started, before = call.started_at, last.started_at
    if call.parameters is not last.parameters or call.model is not last.model or call.provider is not last.provider:
        return False
    if call.evidence is not RECONSTRUCTED or last.evidence is not RECONSTRUCTED or call.api is not last.api:
        return False
    if call.engine is not None or last.engine is not None or started is None or before is None:
        return False
    return started.toordinal() == before.toordinal()


def key_of(call: Call) -> tuple[str, ...]:
    """What decides which cache a call meets."""
    model = call.served_model or call.model
    if not call.route:
        return call.provider, model
    route = (f"{parameter.name}={parameter.value}" for parameter in call.route if parameter.name in KEY_FIELDS)
    return (call.provider, model, *route)


def rule_of(call: Call, rules: Rules) -> Rule | None:
    """The rule by provider, model and day, or the one that the log's own engine hint stands for."""
    hint = call.engine
    if hint is None:
        return rules.pick(call)
    order = tuple(Tier(name) for name in hint.render_order if name in set(Tier)) or tuple(Tier)
    return Rule(
        id=f"engine-{hint.kind}-{hint.block_tokens}",
        algorithm=Algorithm.BLOCKS,
        valid_from=date.min,
        evidence=Basis.OFFICIAL,
        source="the log's own engine hint",
        checked=date.min,
        provider=call.provider,
        order=order,
        block=hint.block_tokens,
        keeps_last=hint.kind == "local",
        best_effort=hint.kind != "local",
    )


def ordered(call: Call, rule: Rule) -> Prompt:
    """The prompt in the order in which the rule lays it out."""
    if call.evidence is Evidence.EXACT and rule.order != (Tier.TOOLS, Tier.SYSTEM, Tier.MESSAGES):
        return in_order(call.prompt, rule.order)
    return call.prompt


def marks_of(prompt: Prompt, rule: Rule) -> tuple[Mark, ...]:
    """Cache marks of a request with their positions; a transcript shows none."""
    if not rule.algorithm.writes_at_marks:
        return ()
    return tuple(
        Mark(position, segment.mark)
        for position, segment in enumerate(prompt.segments(), 1)
        if segment.mark is not None
    )


def lifetime_of(call: Call) -> str | None:
    """The shortest lifetime that the usage says was written, None where it does not say."""
    return None if call.usage is None else call.usage.lifetime


def slack_of(expected: int) -> float:
    """How far a read may lie from an expected one, in tokens, and still be explained by it."""
    return max(SLACK_TOKENS, SLACK_SHARE * expected)
