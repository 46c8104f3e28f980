"""Rule files: TOML, one provider a file, shipped in `data/` or given by the user; wrong rows are refused, never guessed."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from hitledger.errors import HitledgerError
from hitledger.policies.rule import Basis, Invalidation, Lifetime, Minimum, Rule
from hitledger.policies.rulechecks import faults, hides
from hitledger.tomlfile import is_schema, tables_of, text_of

SCHEMA = 1
MAX_FILE_BYTES = 2**20
TABLES = frozenset({"schema", "provider", "rule", "inherit"})
Row = TypeVar("Row", Rule, "Inherit")


class RuleFileError(HitledgerError):
    """A rule file that cannot be used. The message names file, row and reason."""

    exit_code = 2


class Inherit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another provider's rules that hold here too, with what differs."""

    provider: str  # whose
    models: tuple[str, ...]
    evidence: Basis
    source: str
    checked: date
    only: tuple[str, ...] = ()  # ids of the rules meant; without: all of that provider
    valid_from: date | None = None
    valid_to: date | None = None
    minimums: tuple[Minimum, ...] | None = None
    lifetimes: tuple[Lifetime, ...] | None = None
    invalidates: tuple[Invalidation, ...] | None = None
    isolation: tuple[str, ...] | None = None
    collapse_runs: bool | None = None
    best_effort: bool | None = None
    notes: tuple[str, ...] = ()


class RuleFile(msgspec.Struct, frozen=True):
    """One TOML file. Earlier rows win, so the narrower model globs stand first; inherited rules come last."""

    name: str
    provider: str
    rules: tuple[Rule, ...]
    inherits: tuple[Inherit, ...]


def parse(text: str, name: str) -> RuleFile:
    """The rows of one TOML file. Raises RuleFileError with file, row and reason."""
    try:
        tables = tables_of(text)
    except ValueError as error:
        raise RuleFileError(f"{name}: {error}") from error
    for key in tables:
        if key not in TABLES:
            raise RuleFileError(f"{name}: `{key}` is no key of a rule file: {', '.join(sorted(TABLES))} are")
    if not is_schema(tables.get("schema"), SCHEMA):
        raise RuleFileError(f"{name}: schema {tables.get('schema')}, this hitledger reads {SCHEMA}")
    provider = tables.get("provider", "")
    if not isinstance(provider, str) or not provider:
        raise RuleFileError(f'{name}: say whose rules these are: provider = "…"')
    rules = tuple(_rows(name, "rule", tables.get("rule", ()), Rule))
    for number, rule in enumerate(rules, 1):
        _check(name, number, rule, rules[: number - 1])
    rules = tuple(msgspec.structs.replace(rule, provider=provider) for rule in rules)
    return RuleFile(name, provider, rules, tuple(_rows(name, "inherit", tables.get("inherit", ()), Inherit)))


def _rows(name: str, table: str, rows: Any, kind: type[Row]) -> Iterable[Row]:
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        raise RuleFileError(f"{name}: `{table}` is not a list of tables: write [[{table}]]")
    for number, row in enumerate(rows, 1):
        label = row.get("id") or row.get("provider") if isinstance(row, Mapping) else None
        try:
            yield msgspec.convert(row, kind)
        except msgspec.ValidationError as error:
            raise RuleFileError(f"{name}: {table} {number}{f' ({label})' if label else ''}: {error}") from error


def _check(name: str, number: int, rule: Rule, earlier: Sequence[Rule]) -> None:
    place = f"{name}: rule {number} ({rule.id})"
    if rule.provider:
        raise RuleFileError(f"{place}: provider stands once, at the head of the file")
    for reason in faults(rule):
        raise RuleFileError(f"{place}: {reason}")
    for other in earlier:
        if other.id == rule.id:
            raise RuleFileError(f"{place}: two rules have this id")
        if hides(other, rule):
            raise RuleFileError(f"{place} overlaps {other.id} in time")


def rules_of(files: Sequence[RuleFile]) -> tuple[Rule, ...]:
    """All rules, each file's own before those that it inherits. Raises RuleFileError where nothing is inherited."""
    own: dict[str, list[Rule]] = {}
    for file in files:
        own.setdefault(file.provider, []).extend(file.rules)
    found: list[Rule] = []
    for file in files:
        found += file.rules
        for number, inherit in enumerate(file.inherits, 1):
            if inherit.provider == file.provider or inherit.provider not in own:
                raise RuleFileError(f"{file.name}: inherit {number}: there are no rules of `{inherit.provider}`")
            found += _heirs(f"{file.name}: inherit {number}", file, inherit, own[inherit.provider])
    return tuple(found)


def _heirs(place: str, file: RuleFile, inherit: Inherit, rules: Sequence[Rule]) -> list[Rule]:
    ids = {rule.id for rule in rules}
    if unknown := [name for name in inherit.only if name not in ids]:
        raise RuleFileError(f"{place}: `{unknown[0]}` is no rule of {inherit.provider}")
    heirs = list(_inherited(file.provider, inherit, rules))
    if not heirs:
        raise RuleFileError(f"{place}: {inherit.provider} has no rule between valid_from and valid_to")
    for rule in heirs:
        for reason in faults(rule):
            raise RuleFileError(f"{place} ({rule.id}): {reason}")
        for other in file.rules:
            if hides(other, rule):
                raise RuleFileError(f"{place} ({rule.id}) overlaps {other.id} in time: that one needs narrower models")
    return heirs


def _inherited(provider: str, inherit: Inherit, rules: Sequence[Rule]) -> Iterable[Rule]:
    changes = {
        name: value
        for name in ("minimums", "lifetimes", "invalidates", "isolation", "collapse_runs", "best_effort")
        if (value := getattr(inherit, name)) is not None
    }
    for rule in rules:
        if inherit.only and rule.id not in inherit.only:
            continue
        start = max(rule.valid_from, inherit.valid_from or rule.valid_from)
        end = min(rule.valid_to or date.max, inherit.valid_to or date.max)
        if start < end:
            yield msgspec.structs.replace(
                rule,
                id=f"{provider}/{rule.id}",
                provider=provider,
                within=inherit.models,
                valid_from=start,
                valid_to=None if end == date.max else end,
                evidence=inherit.evidence,
                source=inherit.source,
                checked=inherit.checked,
                notes=inherit.notes + rule.notes,
                **changes,
            )


def shipped_files() -> tuple[RuleFile, ...]:
    """The rule files that come with the package, by name."""
    return tuple(_shipped_file(provider) for provider in _shipped_paths())


@cache
def shipped_rules(provider: str) -> tuple[Rule, ...]:
    """The shipped rules of one provider, with those that it inherits: of all files only these are read."""
    if provider not in _shipped_paths():
        return ()
    file = _shipped_file(provider)
    sources = dict.fromkeys(row.provider for row in file.inherits)
    rules = rules_of((file, *(_shipped_file(source) for source in sources)))
    return tuple(rule for rule in rules if rule.provider == provider)


@cache
def _shipped_paths() -> dict[str, Path]:
    """By provider, whose name the file bears."""
    return {path.stem: path for path in sorted((Path(__file__).parent / "data").glob("*.toml"))}


@cache
def _shipped_file(provider: str) -> RuleFile:
    path = _shipped_paths()[provider]
    return parse(path.read_text("utf-8"), path.name)


def read_rule_file(path: Path) -> RuleFile:
    """A rule file of the user. Raises RuleFileError."""
    try:
        text = text_of(path, MAX_FILE_BYTES)
    except ValueError as error:
        raise RuleFileError(f"{path}: {error}") from error
    return parse(text, str(path))
