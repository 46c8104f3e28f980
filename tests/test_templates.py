"""Chat templates are hostile programs."""

import pytest

from hitledger.templates import TemplateError, render


def test_renders_messages() -> None:
    template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    assert render(template, [{"messages": [{"role": "user", "content": "hi"}]}]) == ["<user>hi"]


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "unsafe"),
        ("{% for i in range(10**9) %}x{% endfor %}", "[Rr]ange"),
        ("{% set x = 'a' * (10 ** 10) %}{{ x }}", "cannot be rendered"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ missing.part }}", "undefined"),
        ("{% if %}", "cannot be rendered"),
        ("{{ raise_exception('no system role') }}", "no system role"),
        ("x" * 300_000, "larger than"),
    ],
)
def test_refused(template: str, reason: str) -> None:
    with pytest.raises(TemplateError, match=reason):
        render(template, [{"messages": []}])


def test_endless_output_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hitledger.templates.MAX_RENDERED_BYTES", 1000)
    with pytest.raises(TemplateError, match="more text"):
        render("{% for i in range(1000) %}abc{% endfor %}", [{}])


def test_endless_time_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hitledger.templates.SECONDS", 1)
    loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    with pytest.raises(TemplateError, match="not rendered within"):
        render(loops, [{}])
