"""The check as a pull-request comment: short, the money first."""

from hitledger.check.result import CheckResult
from hitledger_reports import check_figures, figures
from hitledger_reports.markdown import code, prose
from hitledger_reports.shown import PATH, PROSE, shown

FINDINGS = 5


def render(result: CheckResult) -> str:
    """The comment. Same result, same string. Texts of prompts stand in code spans, so that none takes effect."""
    mark = "✅" if result.passed else "❌"
    lines = [f"### {mark} {prose(check_figures.headline(result))}"]
    failed = [f"- ❌ {prose(str(rule))}" for rule in result.rules if not rule.passed]
    if listed := failed + _findings(result):
        lines += ["", *listed]
    if advice := check_figures.advice(result):
        lines += ["", prose(shown(advice, PROSE))]
    rows = check_figures.rows(result)
    if rows:
        lines += ["", "| | Before | After | Change |", "| :--- | ---: | ---: | ---: |"]
        lines += [f"| {row.label} | {row.before} | {row.after} | {row.change} |" for row in rows]
    remarks = check_figures.remarks(result)
    if not rows:
        lines += ["", *(prose(shown(remark, PROSE)) for remark in remarks)]
    elif remarks:
        lines += ["", "<details><summary>How this was measured</summary>", ""]
        lines += [f"- {prose(shown(remark, PROSE))}" for remark in remarks]
        lines += [f"- {figures.LEGEND}", "", "</details>"]
    return "\n".join(lines).rstrip() + "\n"


def _findings(result: CheckResult) -> list[str]:
    lines: list[str] = []
    for one in result.open[:FINDINGS]:
        why = check_figures.explanation(one)
        lines.append(f"- {code(one.cause)} at {code(shown(check_figures.place_of(one), PATH))}")
        lines[-1] += f": {prose(shown(why, PROSE))}" if why else ""
        if one.after is not None:
            lines.append(f"  {code(one.before or '')} → {code(one.after)}")
    rest = len(result.open) - FINDINGS
    return [*lines, f"- and {figures.plural(rest, 'more finding')}"] if rest > 0 else lines
