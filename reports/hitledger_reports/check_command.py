"""`hitledger check`: its options, and from them to the check and its outputs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from hitledger.errors import OVER_A_LIMIT, UsageError

Text = str | None


def check(
    files: Annotated[list[str] | None, typer.Argument(help="Changed files, each against its text in git.")] = None,
    baseline: Annotated[Text, typer.Option(help="File, folder, module:function; git:REV: in front.")] = None,
    candidate: Annotated[Text, typer.Option(help="The same kind, as it is to be deployed.")] = None,
    against: Annotated[str, typer.Option(help="With FILES: the git revision to compare with.")] = "HEAD",
    logs: Annotated[list[str] | None, typer.Option(help="Recorded sessions, or a saved audit.")] = None,
    format: Annotated[Text, typer.Option(help="Reader of the logs; `hitledger formats` lists them.")] = None,
    max_hit_rate_drop: Annotated[Text, typer.Option(help="Percentage points.")] = None,
    max_cost_increase: Annotated[Text, typer.Option(help="A day: 5% or 2.50usd.")] = None,
    max_one_off_cost: Annotated[Text, typer.Option(help="USD at the deploy.")] = None,
    max_added_tokens: Annotated[Text, typer.Option(help="Prompt tokens a call.")] = None,
    no_volatile_prefix: Annotated[bool, typer.Option("--no-volatile-prefix", help="Fail on text like a date.")] = False,
    no_bad_marks: Annotated[bool, typer.Option("--no-bad-marks", help="Fail on marks that buy nothing.")] = False,
    known: Annotated[Text, typer.Option(help="Committed file of known findings.")] = None,
    write_known: Annotated[Text, typer.Option(help="Write the findings as known ones.")] = None,
    calls_per_day: Annotated[int | None, typer.Option(min=1, help="Real traffic, to scale the costs.")] = None,
    deploy_at: Annotated[Text, typer.Option(help="Time (UTC) of the deploy; default: the busiest.")] = None,
    rollout: Annotated[Text, typer.Option(help="MINUTES:SHARE%,… of calls on the candidate.")] = None,
    replay: Annotated[Path | None, typer.Option(help="A replay's JSON, for the change of TTFT.")] = None,
    render_timeout: Annotated[float | None, typer.Option(min=0.1, help="Seconds a renderer may take; 20.")] = None,
    prices: Annotated[Path | None, typer.Option(help="Your own prices, TOML or LiteLLM's JSON.")] = None,
    rules: Annotated[
        Path | None, typer.Option(help="Your own cache rules, TOML; they win over the shipped ones.")
    ] = None,
    tokenizer: Annotated[list[str] | None, typer.Option(help="MODEL=FILE with a tokenizer.json.")] = None,
    json: Annotated[Text, typer.Option(metavar="FILE", help="Write the result as JSON.")] = None,
    markdown: Annotated[Text, typer.Option(metavar="FILE", help="Write a pull-request comment.")] = None,
    junit: Annotated[Text, typer.Option(metavar="FILE", help="Write JUnit XML.")] = None,
    sarif: Annotated[Text, typer.Option(metavar="FILE", help="Write SARIF 2.1.0.")] = None,
    github: Annotated[bool, typer.Option("--github", help="Print annotations for GitHub Actions.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no report.")] = False,
) -> None:
    """Say what a change of a prompt costs before it is deployed. Exit 4 where a limit is passed."""
    from hitledger.check import known as known_findings
    from hitledger.check.limits import Settings, settings_in
    from hitledger.check.run import CheckOptions
    from hitledger.check.run import check as run
    from hitledger.check.runner import SECONDS, Place
    from hitledger.check.traffic import TrafficOptions
    from hitledger.check.transition import parse_shares
    from hitledger.measurement import load
    from hitledger.policies.rules import rules_with
    from hitledger.tokens import parse_tokenizers
    from hitledger_reports.check_publish import CheckOutputs, publish

    flags = Settings(
        logs=tuple(logs or ()),
        known=known,
        max_hit_rate_drop=max_hit_rate_drop,
        max_cost_increase=max_cost_increase,
        max_one_off_cost=max_one_off_cost,
        max_added_tokens=max_added_tokens,
        no_volatile_prefix=no_volatile_prefix,
        no_bad_marks=no_bad_marks,
        calls_per_day=calls_per_day,
        render_timeout=render_timeout,
    )
    settings = flags.over(settings_in(Path.cwd()))
    traffic = TrafficOptions(
        calls_per_day=settings.calls_per_day,
        deploy_at=_instant(deploy_at) if deploy_at else None,
        rollout=parse_shares(rollout) if rollout else None,
        replay=load(str(replay)) if replay else None,
    )
    options = CheckOptions(
        baseline=baseline,
        candidate=candidate,
        files=tuple(files or ()),
        against=against,
        logs=settings.logs,
        format=format,
        limits=settings.limits(),
        known=None if write_known and not Path(settings.known or "").is_file() else settings.known,
        prices=prices,
        rules=rules_with(rules),
        tokenizers=parse_tokenizers(tuple(tokenizer or ())),
        place=Place(Path.cwd(), seconds=settings.render_timeout or SECONDS),
        traffic=traffic,
    )
    result = run(options)
    if write_known:
        known_findings.save(result.all_findings, write_known)
    publish(result, CheckOutputs(json, markdown, junit, sarif, github, quiet))
    if not result.passed:
        raise typer.Exit(OVER_A_LIMIT)


def _instant(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--deploy-at {text}: give a time such as 2026-05-04T08:00") from error
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
