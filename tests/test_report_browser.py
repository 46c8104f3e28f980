"""The page in a real browser: it shows, sorts, filters, opens a break, asks for nothing and runs nothing of a log."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import AXE, chromium, console, requests, screen
from hitledger_reports import html
from hitledger_reports.compare import compare
from report_audits import audit_of, broken, call, secretive, shop

PAGES = ("overview", "session-1", "break-1", "break-2")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "shop.html"
    html.write(shop(), str(path))
    return path.as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def driver(browser: Any, page: str) -> Any:
    """The report, freshly opened at 1,280 pixels."""
    screen(browser, 1_280)
    open_page(browser, page)
    return browser


def open_page(driver: Any, url: str) -> None:
    driver.get("about:blank")
    requests(driver)
    console(driver)
    driver.get(url)


def column(driver: Any, table: str, number: int) -> list[str]:
    rows = "[...document.querySelectorAll(`#${arguments[0]} tbody tr`)].filter(row => !row.hidden)"
    script = f"return {rows}.map(row => row.cells[arguments[1]].innerText.trim())"
    found: list[str] = driver.execute_script(script, table, number)
    return found


def visible(driver: Any, element: str) -> bool:
    return bool(driver.execute_script("return document.getElementById(arguments[0]).offsetHeight > 0", element))


def click(driver: Any, selector: str) -> None:
    driver.find_element("css selector", selector).click()


def violations(driver: Any) -> list[tuple[str, list[str]]]:
    """What axe-core calls serious or critical: the rule and three places."""
    driver.execute_script(AXE.read_text(encoding="utf-8"))
    rules = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']"
    found = driver.execute_async_script(f"axe.run(document, {{runOnly: {rules}}}).then(arguments[0])")["violations"]
    return [
        (one["id"], [node["html"] for node in one["nodes"]][:3])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def test_it_shows_and_asks_for_nothing(driver: Any, page: str) -> None:
    assert driver.find_element("tag name", "h1").text == "What the prompt cache cost and saved"
    assert visible(driver, "overview")
    assert not visible(driver, "break-1")
    assert requests(driver) == [page]
    assert console(driver) == []


def test_a_table_sorts_by_number_and_by_text(driver: Any) -> None:
    assert column(driver, "tb-breaks", 0) == ["ttl.expired", "system.volatile_time"]
    click(driver, "#tb-breaks th:nth-child(1) button")
    assert column(driver, "tb-breaks", 0) == ["system.volatile_time", "ttl.expired"]
    click(driver, "#tb-breaks th:nth-child(3) button")  # numbers: most first
    assert column(driver, "tb-breaks", 2) == ["≈15,700", "11,500"]
    click(driver, "#tb-breaks th:nth-child(3) button")
    assert column(driver, "tb-breaks", 2) == ["11,500", "≈15,700"]
    header = driver.find_element("css selector", "#tb-breaks th:nth-child(3)")
    assert header.get_attribute("aria-sort") == "ascending"


def test_unknown_sorts_last_both_ways(browser: Any, tmp_path: Path) -> None:
    calls = [call(n, 0, 5_000, project=project) for n, project in enumerate(("a", "b", "c"))]
    breaks = [broken(calls[0], "model.changed", 900), broken(calls[1], "model.changed", 5_000, cost=None)]
    path = tmp_path / "unpriced.html"
    html.write(audit_of(calls, breaks), str(path))
    open_page(browser, path.as_uri())
    for _ in range(2):
        click(browser, "#tb-by_project th:nth-child(13) button")  # lost money
        assert column(browser, "tb-by_project", 12)[-1] == "—"


def test_a_table_filters(driver: Any) -> None:
    box = driver.find_element("css selector", "[aria-controls=tb-breaks]")
    box.send_keys("Volatile")
    assert column(driver, "tb-breaks", 0) == ["system.volatile_time"]
    box.clear()
    box.send_keys("nothing like it")
    assert column(driver, "tb-breaks", 0) == []


def test_a_break_opens_and_the_way_back(driver: Any) -> None:
    click(driver, "#tb-breaks tbody tr:nth-child(2) a")
    assert visible(driver, "break-2")
    assert not visible(driver, "overview")
    assert "Move the clock out" in driver.find_element("css selector", "#break-2 .first").text
    assert [mark.text for mark in driver.find_elements("css selector", "#break-2 mark")] == ["4:11", "5:37"]
    driver.find_element("tag name", "body").send_keys("\ue012")  # left arrow: the break before
    assert visible(driver, "break-1")
    driver.find_element("tag name", "body").send_keys("\ue00c")  # escape
    assert visible(driver, "overview")
    driver.back()
    assert visible(driver, "break-1")


def test_a_session_opens_and_a_call_tells_its_details(driver: Any, page: str) -> None:
    click(driver, "#tb-sessions a")
    assert visible(driver, "session-1")
    row = driver.find_element("css selector", "#session-1 tr.broke")
    details = row.find_element("css selector", ".more")
    assert not details.is_displayed()
    row.find_element("css selector", "a").send_keys("")  # focus, as the tab key would
    assert details.is_displayed()
    assert details.text.startswith("14,904 input, 2,000 read, 12,900 written, 4 uncached, ideal 13,500")
    assert console(driver) == []


@pytest.mark.parametrize("width", [1_280, 390])
@pytest.mark.parametrize("part", PAGES)
def test_nothing_is_wider_than_the_screen(browser: Any, page: str, width: int, part: str) -> None:
    screen(browser, width)
    open_page(browser, f"{page}#{part}")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed (npm install --no-save axe-core)")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("part", PAGES)
def test_no_serious_accessibility_violation(browser: Any, page: str, part: str, dark: bool) -> None:
    screen(browser, 1_280, dark)
    open_page(browser, f"{page}#{part}")
    assert violations(browser) == []


def test_it_can_be_read_without_javascript(tmp_path: Path, page: str) -> None:
    with chromium(tmp_path / "profile", javascript=False) as driver:
        open_page(driver, page)
        assert len(driver.find_elements("css selector", "#tb-breaks tbody tr")) == 2
        assert driver.find_elements("css selector", "th button") == []
        driver.find_element("css selector", "#tb-breaks tbody a").click()
        assert driver.find_element("id", "break-1").is_displayed()
        assert not driver.find_element("id", "overview").is_displayed()


@pytest.mark.parametrize("part", PAGES[:3])
def test_a_hostile_log_does_nothing(browser: Any, tmp_path: Path, part: str) -> None:
    path = tmp_path / "evil.html"
    html.write(secretive(), str(path))
    for width in (1_280, 390):
        screen(browser, width)
        open_page(browser, f"{path.as_uri()}#{part}")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert browser.execute_script("return document.scripts.length") == 2
        assert browser.execute_script("return document.querySelectorAll('img, iframe, object, form').length") == 0
        assert {url.split("#")[0] for url in requests(browser)} == {path.as_uri()}
        assert console(browser) == []


def test_a_script_from_elsewhere_would_not_run(browser: Any, tmp_path: Path) -> None:
    """The page's own policy holds even where escaping failed."""
    path = tmp_path / "injected.html"
    content = html.render(shop()).replace(
        "</main>", "<script>window.ran = 1</script><img src='http://127.0.0.1:9/x'></main>"
    )
    path.write_text(content, encoding="utf-8")
    open_page(browser, path.as_uri())
    assert browser.execute_script("return window.ran === undefined")
    assert any("Content Security Policy" in line for line in console(browser))


def test_two_audits_compared(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "compared.html"
    path.write_text(html.render_comparison(compare(shop(), secretive())), encoding="utf-8")
    open_page(browser, path.as_uri())
    assert browser.find_element("tag name", "h1").text == "What got better, what got worse"
    assert console(browser) == []


def many(calls: int = 120) -> Any:
    """One session of this many calls and a sub-agent, with breaks at 30 and 90; and more sessions than a list shows."""
    rows = [call(n, 900 * n, 900, minute=n, agent="main" if n % 10 else "explore") for n in range(calls)]
    rows += [call(calls + n, 0, 500, session=f"s-{n:03}", predecessor=None) for n in range(40)]
    return audit_of(rows, [broken(rows[n], "system.volatile_id", 5_000 * n, token_offset=20_000) for n in (31, 91)])


@pytest.fixture(scope="module")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("long") / "long.html"
    html.write(many(), str(path))
    return path.as_uri()


def shown_rows(driver: Any, rows: str) -> int:
    script = "return [...document.querySelectorAll(arguments[0])].filter(row => row.offsetHeight > 0).length"
    return int(driver.execute_script(script, rows))


def test_a_long_table_is_folded_and_unfolds(browser: Any, long_page: str) -> None:
    screen(browser, 1_280)
    open_page(browser, long_page)
    assert shown_rows(browser, "#tb-sessions tbody tr") == 25
    button = browser.find_element("css selector", "button.fold[aria-controls=tb-sessions]")
    assert button.text == "Show all 41 rows"
    button.click()
    assert shown_rows(browser, "#tb-sessions tbody tr") == 41
    assert button.get_attribute("aria-expanded") == "true"
    button.click()
    box = browser.find_element("css selector", "[aria-controls=tb-sessions]")
    box.send_keys("s-0")
    assert shown_rows(browser, "#tb-sessions tbody tr") == 40  # what is filtered is not folded
    box.send_keys("39")
    assert column(browser, "tb-sessions", 0) == ["s-039 shop"]


def test_a_session_folds_to_its_breaks_and_its_lanes(browser: Any, long_page: str) -> None:
    screen(browser, 1_280)
    open_page(browser, f"{long_page}#session-1")
    assert shown_rows(browser, "#session-1 tbody tr") == 122
    click(browser, "#session-1 .calmly")
    # Two neighbours on either side of each break; the lane without a break stays as it is.
    assert shown_rows(browser, "#session-1 tbody tr:not(.lane)") == 10 + 12
    click(browser, "#session-1 .calmly")
    click(browser, "#session-1 .lane button")
    lanes = browser.find_elements("css selector", "#session-1 .lane button")
    assert [lane.get_attribute("aria-expanded") for lane in lanes] == ["false", "true"]
    assert shown_rows(browser, "#session-1 tbody tr:not(.lane)") == 108
    assert console(browser) == []


def view_boxes(driver: Any, selector: str) -> set[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map(picture => picture.getAttribute('viewBox'))"
    return set(driver.execute_script(script, selector))


def test_pictures_zoom_around_the_first_difference(browser: Any, long_page: str) -> None:
    screen(browser, 1_280)
    open_page(browser, f"{long_page}#break-1")
    assert view_boxes(browser, "#break-1 .prompt svg") == {"0 0 1000 24"}
    click(browser, "#break-1 [data-zoom=in]")
    click(browser, "#break-1 [data-zoom=in]")
    # Token 20,000 of 82,804 lies at 242 of 1,000: first 500 around it, which ends at the left, then 250 around its middle.
    assert view_boxes(browser, "#break-1 .prompt svg") == {"125 0 250 24"}
    assert browser.find_element("css selector", "#break-1 output").text == "10,351 to 31,052"
    click(browser, "#break-1 [data-zoom=right]")
    assert view_boxes(browser, "#break-1 .prompt svg") == {"250 0 250 24"}
    for _ in range(2):
        click(browser, "#break-1 [data-zoom=out]")
    assert view_boxes(browser, "#break-1 .prompt svg") == {"0 0 1000 24"}
    assert not browser.find_element("css selector", "#break-1 [data-zoom=out]").is_enabled()
    assert browser.find_element("css selector", "#break-1 output").text == "all tokens"


def test_arrows_go_from_call_to_call(browser: Any, long_page: str) -> None:
    screen(browser, 1_280)
    open_page(browser, f"{long_page}#session-1")
    first = browser.find_element("css selector", "#session-1 tbody tr:nth-child(2) a")
    first.send_keys("\ue015")  # down
    focused = browser.switch_to.active_element
    assert focused.text == "10"  # the lane of the sub-agent comes first
    assert browser.find_element("css selector", "#session-1 tbody tr:nth-child(3) .more").is_displayed()
    focused.send_keys("\ue013")  # up
    assert browser.switch_to.active_element == first


def test_print_shows_every_page_and_row(browser: Any, long_page: str) -> None:
    screen(browser, 800)
    open_page(browser, f"{long_page}#break-2")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert all(visible(browser, part) for part in ("overview", "session-1", "session-2", "break-1", "break-2"))
        assert shown_rows(browser, "#tb-sessions tbody tr") == 41
        assert shown_rows(browser, ".tools button, .filter, .tools, nav") == 0
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 800
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed (npm install --no-save axe-core)")
@pytest.mark.parametrize("part", ["overview", "session-1", "break-1"])
@pytest.mark.parametrize("width", [1_280, 390])
def test_no_serious_accessibility_violation_when_folded(browser: Any, long_page: str, part: str, width: int) -> None:
    screen(browser, width)
    open_page(browser, f"{long_page}#{part}")
    assert violations(browser) == []
