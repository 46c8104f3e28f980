"""Chat templates found in logs or models: hostile programs, rendered only in a sandbox, in a process with limits."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import orjson

from hitledger.errors import HitledgerError

MAX_TEMPLATE_BYTES = 256 * 1024
MAX_RENDERED_BYTES = 64 * 2**20
SECONDS = 20


class TemplateError(HitledgerError):
    """A chat template that cannot be rendered within the limits."""


def render(template: str, conversations: Sequence[dict[str, Any]]) -> list[str]:
    """Render each conversation (the template's variables: messages, tools, add_generation_prompt, …).

    All run in one separate process with a time, memory and output limit. Raises TemplateError.
    """
    if len(template.encode(errors="replace")) > MAX_TEMPLATE_BYTES:
        raise TemplateError(f"chat template larger than {MAX_TEMPLATE_BYTES // 1024} KiB")
    request = orjson.dumps({"template": template, "conversations": list(conversations), "limit": MAX_RENDERED_BYTES})
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _WORKER], input=request, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise TemplateError(f"chat template not rendered within {SECONDS} s") from error
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip().rsplit("\n", 1)[-1]
        raise TemplateError(f"chat template cannot be rendered: {reason or f'exit {done.returncode}'}")
    answer = orjson.loads(done.stdout)
    if not isinstance(answer, list):
        raise TemplateError("chat template gave no text")
    return [str(text) for text in answer]


# Runs alone (python -I): the sandbox forbids attributes and mutation, the limits stop loops and memory bombs.
_WORKER = """
import json, resource, sys
from jinja2.sandbox import ImmutableSandboxedEnvironment

class Refused(Exception):
    pass

def refuse(message):
    raise Refused(message)

request = json.load(sys.stdin.buffer)
resource.setrlimit(resource.RLIMIT_CPU, (15, 15))
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
environment = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
)
environment.globals["raise_exception"] = refuse
environment.filters["tojson"] = lambda value, indent=None: json.dumps(value, ensure_ascii=False, indent=indent)
template = environment.from_string(request["template"])
texts = []
left = request["limit"]
for variables in request["conversations"]:
    parts = []
    for part in template.generate(**variables):
        left -= len(part)
        if left < 0:
            raise Refused("more text than the limit")
        parts.append(part)
    texts.append("".join(parts))
json.dump(texts, sys.stdout)
"""
