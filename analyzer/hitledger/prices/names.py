"""The names under which a price list may know a model that a log names in its platform's way."""

import re

# Our provider names -> those of genai-prices, where they differ.
LISTED_AS = {
    "bedrock": "aws",
    "vertex": "google",
    "xai": "x-ai",
    "moonshot": "moonshotai",
}
WHOLE_NAMES = frozenset({"openrouter", "fireworks", "together", "groq", "huggingface"})  # a path is part of the name

_SUFFIX = re.compile(r"\[[\w-]+\]$")  # Claude Code's context window: claude-opus-5-5[1m]
_VERTEX_DATE = re.compile(r"@(default|latest|\d{8})$")
_REGION = re.compile(r"^(us|eu|apac|ap|au|jp|ca|us-gov|global)\.(?=(anthropic|amazon|openai|meta|deepseek|qwen)\.)")
_COMPACT_DATE = re.compile(r"-(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")


def candidates(model: str, provider: str) -> tuple[str, ...]:
    """Names to look up, best first, in lower case.

    Takes off `[1m]`, routes of gateways (`bedrock/`, `models/`), ARNs down to the profile or model, and Vertex's
    `@date`. A Bedrock region that the list does not know counts like the model without one: both carry the regional
    price. An Azure deployment can have any name; an alias in a prices file says what it is.
    """
    name = _SUFFIX.sub("", model.strip().lower())
    if name.startswith("arn:") or (provider not in WHOLE_NAMES and "/" in name):
        name = name.rsplit("/", 1)[-1]
    found = [name, _COMPACT_DATE.sub(r"-\1-\2-\3", name)]
    if provider == "vertex":
        found += [_VERTEX_DATE.sub("", name), name.replace("@", "-")]
    if provider == "bedrock":
        found.append(_REGION.sub("", name))
    if provider == "azure":
        found.append(name.replace("gpt-35-", "gpt-3.5-"))
    if "claude" in name:
        found.append(re.sub(r"(?<=\d)\.(?=\d)", "-", name))
    return tuple(dict.fromkeys(found))


def tier_in_name(model: str) -> tuple[str, str]:
    """A model name without the tier that some clients put behind it, and that tier: `claude-opus-4-8-fast`."""
    bare = model.removesuffix("-fast")
    return (bare, "fast") if bare != model and "claude" in model else (model, "")
