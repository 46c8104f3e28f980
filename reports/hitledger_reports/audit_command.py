"""`hitledger audit`: its options, and from them to the audit and its outputs."""

import gc
import sys
from pathlib import Path
from typing import Annotated

import typer

from hitledger.collector import collector_paused
from hitledger.errors import OVER_A_LIMIT


@collector_paused()
def audit(
    inputs: Annotated[
        list[str] | None, typer.Argument(help="Logs: files, folders, globs, '-'; none: the usual places at home.")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Reader to use; `hitledger formats` lists them.")] = None,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="Write the audit as JSON.")] = None,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write a report as one page.")] = None,
    markdown: Annotated[str | None, typer.Option(metavar="FILE", help="Write a report as Markdown.")] = None,
    min_loss: Annotated[str, typer.Option(help="List a break from so many tokens, or such a share, on.")] = "1000,10%",
    fail_over: Annotated[str | None, typer.Option(help="Exit 4 if breaks cost more: 5%, 2.50usd, 10000tokens.")] = None,
    prices: Annotated[Path | None, typer.Option(help="Your own prices, TOML or LiteLLM's JSON.")] = None,
    rules: Annotated[Path | None, typer.Option(help="Your own cache rules, TOML; they go before ours.")] = None,
    tokenizer: Annotated[list[str] | None, typer.Option(help="MODEL=FILE with a tokenizer.json.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="A skipped row or unknown price is an error.")] = False,
    show_text: Annotated[bool, typer.Option("--show-text", help="Show more text around a change.")] = False,
    show_secrets: Annotated[bool, typer.Option("--show-secrets", help="Do not redact secrets.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Find every cache break in agent logs: its place, its cause and its price."""
    from hitledger.audit import AuditOptions
    from hitledger.audit import audit as run
    from hitledger.break_results import Shown
    from hitledger.outfile import takes_stdout
    from hitledger.threshold import parse_threshold
    from hitledger.tokens import parse_tokenizers
    from hitledger.verdicts import parse_min_loss
    from hitledger_reports import publish, terminal
    from hitledger_reports.progress import reading

    limit = parse_threshold(fail_over) if fail_over is not None else None
    on_screen = json is html is markdown is None
    options = AuditOptions(
        format=format,
        strict=strict,
        min_loss=parse_min_loss(min_loss),
        prices=prices,
        rules=rules,
        tokenizers=tuple(parse_tokenizers(tuple(tokenizer or ())).items()),
        shown=Shown(show_text, show_secrets),
        segments=json is not None or html is not None,
        rows=not on_screen,
        located=terminal.WORST if on_screen else None,
    )
    quiet = quiet or takes_stdout(json)
    with reading(quiet) as (read, judged):
        found = run(inputs or [], options, read, judged)
    if json is not None:
        publish.save_json(found, json)
    publish.publish(found, publish.Outputs(html, markdown, quiet=quiet, show_secrets=show_secrets))
    gc.freeze()  # the process ends: no search for cycles when the collector is on again
    if limit is not None and limit.exceeded(found):
        print(f"hitledger: breaks cost {limit.written(found)}, --fail-over {limit}", file=sys.stderr)
        raise typer.Exit(OVER_A_LIMIT)
    raise typer.Exit  # which keeps what was found: freed one by one it would take as long as the report
