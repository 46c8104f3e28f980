"""A check as SARIF 2.1.0: findings on the line of the prompt file, and failing rules."""

from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

import orjson

from hitledger.causes.catalogue import catalogue
from hitledger.check.findings import CheckFinding, Level
from hitledger.check.result import CheckResult, RuleResult
from hitledger_reports import check_figures

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "note"}


def render(result: CheckResult) -> str:
    """The log. Same result, same string."""
    results = [_finding(one) for one in result.all_findings]
    results += [_failed(rule) for rule in result.rules if not rule.passed]
    used = sorted({one["ruleId"] for one in results})
    for one in results:
        one["ruleIndex"] = used.index(one["ruleId"])
    driver = {"name": "hitledger", "version": version("hitledger"), "rules": [_rule(code) for code in used]}
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return orjson.dumps(log, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode() + "\n"


def _rule(code: str) -> dict[str, Any]:
    cause = catalogue().get(code)
    if cause is None:
        return {"id": code, "shortDescription": {"text": f"The limit {code} of hitledger check."}}
    return {"id": code, "shortDescription": {"text": cause.what}, "help": {"text": f"{cause.seen} {cause.fix}".strip()}}


def _finding(one: CheckFinding) -> dict[str, Any]:
    parts = [
        check_figures.explanation(one),
        f"was: {one.before}" if one.before else "",
        f"now: {one.after}" if one.after else "",
    ]
    text = "; ".join(part for part in parts if part) or one.cause
    region = {"startLine": one.line}
    location: dict[str, Any] = {"artifactLocation": {"uri": _uri(one.file)}, "region": region}
    found: dict[str, Any] = {
        "ruleId": one.cause,
        "level": LEVELS[one.level],
        "message": {"text": text},
        "locations": [{"physicalLocation": location, "logicalLocations": [{"fullyQualifiedName": one.path}]}],
        "partialFingerprints": {"hitledgerFinding/v1": "|".join(one.key)},
    }
    if one.known:
        found["suppressions"] = [{"kind": "external", "justification": "known finding"}]
    return found


def _failed(rule: RuleResult) -> dict[str, Any]:
    return {"ruleId": rule.name, "level": "error", "message": {"text": str(rule)}}


def _uri(file: str) -> str:
    return quote(PurePosixPath(file.replace("\\", "/")).as_posix())
