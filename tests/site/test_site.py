"""The site that `make docs` made, with and without a browser; `make docs-check` runs this.

The pages are opened as files, as somebody does who was given the folder: nothing is served. After each test
that opens pages the browser is asked what it requested and complained of.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import treadle
import treadle.cuda
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

SITE = Path(os.environ["TREADLE_SITE"])
WIDE, PHONE = (1300, 900), (390, 800)


# --- without a browser --------------------------------------------------------------------------------------


class Page(HTMLParser):
    """What a page has to link to, links to, and loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        a = dict(attrs)
        self.ids |= {a[k] for k in ("id", "name") if a.get(k)}
        if tag == "a" and a.get("href"):
            self.links.append(a["href"])
        elif tag in ("script", "img", "iframe", "source") and a.get("src"):
            self.loads.append(a["src"])
        elif tag == "link" and a.get("href") and a.get("rel") not in ("canonical",):
            self.loads.append(a["href"])


PAGES = {p: Page(p) for p in sorted(SITE.rglob("*.html")) if "_static" not in p.parts}


def faults(path: Path, links: list[str]) -> list[str]:
    """Those of a page's links that lead nowhere."""
    found = []
    for link in links:
        to = urlsplit(link)
        if to.scheme or to.netloc:
            continue
        file = Path(os.path.normpath(path.parent / unquote(to.path))) if to.path else path
        # What stands behind # on these two is for their scripts.
        scripted = file.name in ("search.html", "genindex.html")
        if not file.exists() or to.fragment and not scripted and unquote(to.fragment) not in PAGES[file].ids:
            found.append(f"{path.relative_to(SITE)}: {link}")
    return found


def test_links() -> None:
    """Every link inside leads to a page, and to a place that is on it."""
    assert sum(len(p.links) for p in PAGES.values()) > 1000
    assert [f for path, page in PAGES.items() for f in faults(path, page.links + page.loads)] == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    loaded = {
        link for page in PAGES.values() for link in page.loads if urlsplit(link).scheme not in ("", "data")
    }
    styles = [p.name for p in SITE.rglob("*.css") if "//" in p.read_text() and "url(http" in p.read_text()]
    assert (loaded, styles) == (set(), [])


@pytest.mark.parametrize("module", [treadle, treadle.cuda], ids=lambda m: m.__name__)
def test_every_public_name_has_a_place(module) -> None:
    """Each is to be found in the reference: by its own name, or by that of the page of its module."""
    places = {i for path, page in PAGES.items() if path.parent.name == "api" for i in page.ids}
    homes = (module.__name__, "treadle.errors", "treadle.cuda.args", "treadle.cuda.cudadrv")
    lost = [
        n
        for n in module.__all__
        if not any(p in places for h in homes for p in (f"{h}.{n}", f"module-{h}.{n}"))
    ]
    assert lost == []


# --- in a browser -------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def chromium() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    # Containers have no user namespaces for a sandbox, and little shared memory.
    for arg in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--hide-scrollbars",
    ):
        options.add_argument(arg)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(30)
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """A browser window on a desk; what a test opened in it asked nobody outside and had no complaint."""
    chromium.get((SITE / "index.html").as_uri())
    chromium.execute_script("localStorage.clear()")
    size(chromium, WIDE)
    yield chromium
    sent = [json.loads(e["message"])["message"] for e in chromium.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"]
    assert asked and [u for u in asked if urlsplit(u).scheme not in ("file", "data")] == []
    # The theme says to the console what its button did, and that is no complaint.
    assert [e["message"] for e in chromium.get_log("browser") if e["level"] in ("WARNING", "SEVERE")] == []


def size(browser: webdriver.Chrome, of: tuple[int, int]) -> None:
    how = {"width": of[0], "height": of[1], "deviceScaleFactor": 1, "mobile": of == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", how)


def results(browser: webdriver.Chrome, words: str) -> list[str]:
    """The pages that the search finds, best first, as paths in the site with the place on them."""
    browser.get((SITE / "docs" / "guide.html").as_uri())
    field = browser.find_element(By.CSS_SELECTOR, "input[name=q]")
    field.send_keys(words, Keys.ENTER)
    summary = "#search-results p.search-summary"
    said = (By.CSS_SELECTOR, summary)
    over = ("finished", "did not match")
    WebDriverWait(browser, 30).until(lambda b: any(w in e.text for e in b.find_elements(*said) for w in over))
    found = browser.find_elements(By.CSS_SELECTOR, "#search-results ul.search li a")
    return [a.get_attribute("href").removeprefix(SITE.as_uri() + "/") for a in found]


@pytest.mark.parametrize(
    ("words", "among_the_first"),
    [
        ("prange", {"api/treadle.html#treadle.prange", "docs/parallel.html"}),
        ("shared memory", {"docs/cuda.html", "api/cuda.html"}),
        ("set_num_threads", {"api/treadle.html#treadle.set_num_threads"}),
        ("guvectorize", {"api/treadle.html#treadle.guvectorize", "docs/ufuncs.html"}),
    ],
)
def test_search(browser: webdriver.Chrome, words: str, among_the_first: set[str]) -> None:
    found = results(browser, words)
    first = {f for link in found[:8] for f in (link, link.partition("#")[0])}
    assert among_the_first <= first, found
    browser.get(f"{SITE.as_uri()}/{found[0]}")
    text = browser.find_element(By.TAG_NAME, "article").text.lower()
    assert all(w in text for w in words.split())


def test_search_for_what_is_not_there(browser: webdriver.Chrome) -> None:
    assert results(browser, "zyxwvut") == []


def test_light_and_dark(browser: webdriver.Chrome) -> None:
    """One button goes through the themes, and the next page remembers which it is."""

    def look() -> int:
        colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        return sum(map(int, colour.strip("rgba()").split(",")[:3]))

    looks = {}
    for _ in range(3):
        browser.find_element(By.CSS_SELECTOR, ".content-icon-container .theme-toggle").click()
        theme = browser.execute_script("return document.body.dataset.theme")
        browser.get((SITE / "docs" / "cuda.html").as_uri())
        assert browser.execute_script("return document.body.dataset.theme") == theme
        looks[theme] = look()
    assert looks["light"] > 600 and looks["dark"] < 200, looks


def test_no_page_is_wider_than_a_phone(browser: webdriver.Chrome) -> None:
    """Tables and programs that are may be moved within; a page has a title, and its pictures are seen."""
    size(browser, PHONE)
    look = """return [document.documentElement.scrollWidth, document.querySelectorAll('h1').length,
        [...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src)]"""
    found = []
    for path in PAGES:
        browser.get(path.as_uri())
        width, titles, lost = browser.execute_script(look)
        # That of the search is written when something is sought.
        if width > PHONE[0] or lost or not titles and path.name != "search.html":
            found.append((str(path.relative_to(SITE)), width, titles, lost))
    assert found == []
