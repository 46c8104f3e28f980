"""The shapes of secrets: what a key, a token or a password looks like in a prompt."""

import re
from functools import cache

from msgspec import Struct


class Shape(Struct, frozen=True):
    """One kind of secret. Where the pattern has a group, only the group is the secret."""

    name: str
    hints: tuple[str, ...]  # lower-case; the pattern is tried only where one of them stands in the text
    expression: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled on first use: most texts have no hint of most shapes, and all of them take milliseconds."""
        return _compiled(self.expression)


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


_TOKEN = r"[A-Za-z0-9_-]"
# A prefix that providers put in front of their tokens must not be the tail of a longer word. The end of an escape is no
# word: `\n`, `\u001b` and `\x1b` of JSON in a string, `%20` of an address, `ESC[32m` of coloured output.
_HEX = "[0-9A-Fa-f]"
_START = (
    rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u{_HEX}{{4}})|(?<=\\x{_HEX}{{2}})|(?<=%{_HEX}{{2}})"
    r"|(?<=\[[mK])|(?<=[\[;]\dm)|(?<=[\[;]\d\dm)|(?<=[\[;]\d\d\dm))"
)
_ASSIGNED = r"""(?:\\?["'])?[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}(?:\\?["'])?"""
_HAS_DIGIT = r"(?=[^\s\"']{0,63}\d)"


def _after(prefix: str) -> str:
    """The prefix where a token may begin; looked for first, since most places fail on its first letter."""
    return f"(?={prefix}){_START}{prefix}"


# Every repetition is bounded or possessive and no two neighbours share characters, so that a hostile text costs linear
# time. The prefixes are those the issuers document; a bare hexadecimal string is no secret, digests are too common.
SHAPES: tuple[Shape, ...] = (
    Shape(
        "private key",
        ("private key-----",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s\\:,]|-(?!----)){0,20000}+"
        r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?",
    ),
    Shape("JWT", ("eyj",), _after("eyJ") + rf"{_TOKEN}{{8,1024}}+\.{_TOKEN}{{8,}}+(?:\.{_TOKEN}*+){{0,3}}"),
    Shape("API key", ("sk-",), _after("sk-") + rf"(?={_TOKEN}{{0,63}}\d){_TOKEN}{{20,}}+"),
    Shape(
        "API key",
        ("gsk_", "hf_", "r8_", "fw_", "tgp_v1_", "lin_api_", "ntn_", "npm_", "dop_v1_"),
        _after("(?:gsk|hf|r8|fw|tgp_v1|lin_api|ntn|npm|dop_v1)_") + r"[A-Za-z0-9_-]{22,}+",
    ),
    Shape(
        "API key",
        ("xai-", "csk-", "pplx-", "nvapi-", "tvly-", "pypi-agei", "age-secret-key-"),
        _after("(?:xai|csk|pplx|nvapi|tvly|pypi|AGE-SECRET-KEY)-") + rf"(?={_TOKEN}{{0,63}}\d){_TOKEN}{{20,}}+",
    ),
    Shape("Google key", ("aiza",), _after("AIza") + rf"{_TOKEN}{{35}}"),
    Shape("Google token", ("ya29.", "gocspx-"), _after(r"(?:ya29\.|GOCSPX-)") + rf"{_TOKEN}{{20,}}+"),
    Shape(
        "AWS key",
        ("akia", "asia", "abia", "acca", "aroa", "aida"),
        _after("(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)") + r"[A-Z0-9]{16}(?![A-Za-z0-9])",
    ),
    Shape(
        "AWS secret",
        ("secret",),
        rf"(?i:secret_?access_?key){_ASSIGNED}([A-Za-z0-9/+]{{40}}={{0,2}})",
    ),
    Shape(
        "GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        rf"(?=g){_START}(?:gh[pousr]_[A-Za-z0-9]{{30,}}+|github_pat_[A-Za-z0-9_]{{22,}}+)",
    ),
    Shape(
        "GitLab token",
        ("glpat-", "glptt-", "glrt-", "gldt-", "glcbt-", "glsoat-"),
        _after("gl(?:pat|ptt|rt|dt|cbt|soat)-") + rf"{_TOKEN}{{20,}}+",
    ),
    Shape("Slack token", ("xox", "xapp-"), _after("(?:xox[abeoprs]|xapp)-") + r"[A-Za-z0-9-]{10,}+"),
    Shape(
        "Slack webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,}+)",
    ),
    Shape("Stripe key", ("_live_", "_test_"), _after("(?:sk|rk|pk)_") + r"(?:live|test)_[A-Za-z0-9]{16,}+"),
    Shape("SendGrid key", ("sg.",), _after(r"SG\.") + rf"{_TOKEN}{{16,64}}+\.{_TOKEN}{{16,}}+"),
    Shape("Telegram token", (":aa",), rf"(?=\d{{8}}){_START}\d{{8,10}}:AA{_TOKEN}{{30,}}+"),
    Shape("Vault token", ("hvs.", "hvb."), _after(r"hv[sb]\.") + rf"{_TOKEN}{{20,}}+"),
    Shape("Databricks token", ("dapi",), _after("dapi") + r"[0-9a-f]{32}(?:-\d)?"),
    Shape(
        "Azure key", ("accountkey=", "sharedaccesskey="), r"(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}+={0,2})"
    ),
    Shape("signature", ("sig=",), r"[?&;]sig=([A-Za-z0-9%+/=_-]{20,}+)"),
    Shape("bearer token", ("bearer ",), r"(?i:bearer)[ \t]{1,4}([A-Za-z0-9._~+/-]{16,}+={0,2})"),
    Shape(
        "basic credentials",
        ("basic ",),
        r"(?i:authorization)[^A-Za-z0-9]{1,8}(?i:basic)[ \t]{1,4}([A-Za-z0-9+/]{8,}+={0,2})",
    ),
    Shape(
        "API key",
        ("api-key", "api_key", "apikey", "authorization"),
        rf"(?i:(?:api[-_]?key|authorization)){_ASSIGNED}(?:(?i:token|key)[ \t])?{_HAS_DIGIT}([A-Za-z0-9._~+/=-]{{16,}}+)",
    ),
    Shape("password", ("://",), r"""://[^\s:/?#@"'<>]{0,128}:([^\s/"'<>]{1,256})@"""),
    Shape("password", ("password", "pwd"), r"""(?i:password|pwd)[ ]?=[ ]?([^;\s"'<>\[]{1,128}+)(?=;)"""),
    Shape(
        "secret",
        ("password", "passwd", "passphrase", "secret", "_token", "-token", "accesstoken", "private_key"),
        rf"(?i:password|passwd|passphrase|secret|secret[_-]?key|[_-]token|access[_-]?token|private_key){_ASSIGNED}"
        rf"{_HAS_DIGIT}([A-Za-z0-9._~+/=!@#%^&*-]{{8,}}+)",
    ),
)
