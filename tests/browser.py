"""A headless Chromium for the tests of the HTML report: no network, an empty profile, its log kept."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
AXE = Path(__file__).parent.parent / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
    "--disable-component-update", "--no-first-run", "--disable-default-apps", "--disable-dev-shm-usage",
)  # fmt: skip


@contextmanager
def chromium(profile: Path, javascript: bool = True) -> Iterator[Any]:
    """A driver; skips with a reason where something is missing."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("chromium or chromium-driver is not installed (Debian: apt-get install chromium chromium-driver)")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    if not javascript:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def screen(driver: Any, width: int, dark: bool = False) -> None:
    """Show the page as a screen of this width would."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})


def requests(driver: Any) -> list[str]:
    """Addresses that pages asked for since the last call."""
    events = (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
    return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]


def console(driver: Any) -> list[str]:
    """Warnings and errors of the console since the last call."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")]
