"""Secrets of the usual shapes do not pass; ordinary text does. Every secret here is made up."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitledger.redact import redact, visible, window

BODY = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEow+/IBAAK=\n-----END RSA PRIVATE KEY-----"

# (text, secret in it, kind); the rest of the text has to stay.
SECRETS: dict[str, tuple[str, str, str]] = {
    "anthropic": (f"key sk-ant-api03-{BODY}-AA end", f"sk-ant-api03-{BODY}-AA", "API key"),
    "openai project": (f"'sk-proj-{BODY}'", f"sk-proj-{BODY}", "API key"),
    "openrouter": (f"OR=sk-or-v1-{BODY}\n", f"sk-or-v1-{BODY}", "API key"),
    "groq": (f"(gsk_{BODY})", f"gsk_{BODY}", "API key"),
    "hugging face": (f"hf_{BODY[:34]}", f"hf_{BODY[:34]}", "API key"),
    "xai": (f"xai-{BODY} x", f"xai-{BODY}", "API key"),
    "google": (f"k=AIza{BODY[:35]}&x", f"AIza{BODY[:35]}", "Google key"),
    "google oauth": (f"ya29.{BODY} x", f"ya29.{BODY}", "Google token"),
    "aws id": ("id AKIAIOSFODNN7EXAMPLE.", "AKIAIOSFODNN7EXAMPLE", "AWS key"),
    "aws secret": (
        'aws_secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"',
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "AWS secret",
    ),
    "github": (f"ghp_{BODY[:36]} x", f"ghp_{BODY[:36]}", "GitHub token"),
    "github fine-grained": (f"x github_pat_{BODY}_{BODY}", f"github_pat_{BODY}_{BODY}", "GitHub token"),
    "gitlab": (f"glpat-{BODY[:20]}", f"glpat-{BODY[:20]}", "GitLab token"),
    "slack": (f"xoxb-123456789012-{BODY[:24]}", f"xoxb-123456789012-{BODY[:24]}", "Slack token"),
    "slack webhook": (
        f"https://hooks.slack.com/services/T0000/B0000/{BODY[:24]}",
        f"T0000/B0000/{BODY[:24]}",
        "Slack webhook",
    ),
    "stripe": (f"sk_live_{BODY[:24]}", f"sk_live_{BODY[:24]}", "Stripe key"),
    "jwt": (f"x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{BODY} y", f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{BODY}", "JWT"),
    "private key": (f"before\n{PEM}\nafter", PEM, "private key"),
    "private key in json": (f'"k": "{PEM}"'.replace("\n", "\\n"), PEM.replace("\n", "\\n"), "private key"),
    "bearer": ("Authorization: Bearer 0123456789abcdefXYZ", "0123456789abcdefXYZ", "bearer token"),
    "bearer in json": ('{\\"authorization\\": \\"Bearer abcdef.0123456789\\"}', "abcdef.0123456789", "bearer token"),
    "basic": ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz", "basic credentials"),
    "x-api-key": ('"x-api-key": "0123456789abcdef"', "0123456789abcdef", "API key"),
    "postgres": ("postgres://app:hunter2@db:5432/x", "hunter2", "password"),
    "password with @": ("redis://:p@ss@cache:6379", "p@ss", "password"),
    "ado": ("Server=db;User=sa;Password=Tr0ub;Encrypt=1", "Tr0ub", "password"),
    "azure": (f"AccountName=x;AccountKey={BODY}==;", f"{BODY}==", "Azure key"),
    "signature": (f"https://x/y?se=1&sig={BODY}", BODY, "signature"),
    "environment": ("export DB_PASSWORD=hunter2hunter2", "hunter2hunter2", "secret"),
    "client secret": ('"client_secret": "s3cr3t-value"', "s3cr3t-value", "secret"),
}


@pytest.mark.parametrize(
    "before",
    ["\\n", "\\t", "\\\\n", "\\u0022", "\\x1b[1;32m", "\x1b[32m", "\x1b[m", "\x1b[38;5;214m", "\x1b[K", "%20", "_"],
)
@pytest.mark.parametrize("name", ["anthropic", "groq", "google", "aws id", "github", "gitlab", "stripe", "jwt"])
def test_a_secret_behind_an_escape_is_no_tail_of_a_word(name: str, before: str) -> None:
    _, secret, kind = SECRETS[name]
    assert redact(f"{before}{secret} x") == visible(before) + f"[redacted {kind}] x"


@pytest.mark.parametrize("name", SECRETS)
def test_secret_is_replaced_and_nothing_else(name: str) -> None:
    text, secret, kind = SECRETS[name]
    assert redact(text) == text.replace(secret, f"[redacted {kind}]")
    assert redact(redact(text)) == redact(text)
    assert redact(text, show_secrets=True) == text


@pytest.mark.parametrize(
    "text",
    [
        "scikit-learn and task-sk-learn-something-long-enough-here",
        "max_tokens: 4096, token: word, password: string",
        "http://localhost:3000/@scope/package and mailto:me@example.org",
        "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "Bearer of good news, basic research",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "line one\n\tline two",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


def test_what_cannot_be_seen_is_shown() -> None:
    assert redact("\x1b[31mred\x07\x7f") == "␛[31mred␇␡"
    assert redact("a\u202eb\u200bc\x9bd\ufeff\ud800\U000e0041") == (
        "a⟨U+202E⟩b⟨U+200B⟩c⟨U+009B⟩d⟨U+FEFF⟩⟨U+D800⟩⟨U+E0041⟩"
    )
    assert redact("\x1b]8;;http://x\x07", show_secrets=True) == "␛]8;;http://x␇"


def test_window_by_hand() -> None:
    assert window("0123456789", 5, 3) == "…234567…"
    assert window("0123456789", 0, 3) == "012…"
    assert window("0123456789", 10, 3) == "…789"
    assert window("a\n\tb", 1) == "a⏎⇥b"
    assert window("", 7) == ""


@pytest.mark.parametrize("cut", range(12, 44))
def test_window_never_shows_half_a_secret(cut: int) -> None:
    text = "x" * 10 + " AKIAIOSFODNN7EXAMPLE " + "y" * 10
    shown = window(text, cut, 4)
    assert not any(piece in shown for piece in ("AKI", "KIA", "FOD", "ODN", "EXA", "PLE"))


def test_window_in_the_middle_of_a_long_key() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "A1b2" * 3000 + "\n-----END PRIVATE KEY-----"
    assert window("x " + key + " y", 6000) == "…[redacted private key]…"


@given(st.text(alphabet=string.printable + "\u202e\x1b", max_size=300), st.integers(-5, 400), st.integers(0, 60))
def test_output_is_short_visible_and_stable(text: str, offset: int, width: int) -> None:
    assert redact(redact(text)) == redact(text)
    assert visible(window(text, offset, width)) == window(text, offset, width)
    assert "\n" not in window(text, offset, width)


@pytest.mark.parametrize(
    "piece", ["sk-", "eyJ-", "-----BEGIN PRIVATE KEY-----", "://a:", "password=", "bearer ", "authorization: "]
)
def test_hostile_repetition_comes_through(piece: str) -> None:
    assert len(redact(piece * (300_000 // len(piece)))) > 0  # a quadratic pattern would not end
