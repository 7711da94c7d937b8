"""The page can be installed as an app: its manifest, and icons drawn from the page's own."""

from __future__ import annotations

import json
import os
import re
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Browser

from tests.browser.chat import Chat
from tests.running import ROOT

pytestmark = pytest.mark.browser
ICONS = ROOT / "static" / "chat" / "icons"
DRAWING = (ROOT / "static" / "chat" / "icon.svg").read_text()
# On a maskable icon the ground fills the square, and the drawing keeps to the middle.
GROUND = "#2f5d50"


def draw(browser: Browser, size: int, *, maskable: bool) -> bytes:
    page = browser.new_page(viewport={"width": size, "height": size})
    inner = round(size * 0.72) if maskable else size
    ground = f"background:{GROUND};" if maskable else ""
    page.set_content(
        f"<body style='margin:0;display:grid;place-items:center;height:100vh;{ground}'>"
        f"<div style='width:{inner}px;height:{inner}px'>{DRAWING}</div></body>"
    )
    shot = page.screenshot(omit_background=True)
    page.close()
    return shot


def test_the_mark_in_the_page_is_the_same_drawing(chat: Chat) -> None:
    shapes = "(all) => all.map((one) => one.getAttribute('d'))"
    ours = chat.page.locator(".brand a svg path").evaluate_all(shapes)
    assert ours == re.findall(r' d="([^"]+)"', DRAWING)


@pytest.mark.parametrize("name", ["any-192", "any-512", "maskable-512"])
def test_the_icons_are_the_pages_drawing(name: str, browser: Browser) -> None:
    """With PICTURES set they are written anew."""
    kind, size = name.split("-")
    shot, path = draw(browser, int(size), maskable=kind == "maskable"), ICONS / f"{name}.png"
    if os.environ.get("PICTURES"):
        path.write_bytes(shot)
    ours, drawn = (Image.open(file).convert("RGBA") for file in (path, BytesIO(shot)))
    differs = (
        ImageChops.difference(ours, drawn).convert("L").point(lambda value: value > 48 and 255)
    )
    assert ours.size == drawn.size
    assert sum(differs.histogram()[1:]) < 0.01 * ours.width * ours.height


def test_the_manifest_names_what_is_there_and_the_browser_accepts_it(chat: Chat) -> None:
    link = chat.page.locator("link[rel=manifest]").get_attribute("href")
    assert link
    answer = chat.page.request.get(link)
    assert answer.headers["content-type"].startswith("application/manifest+json")
    manifest = json.loads(answer.text())
    for icon in manifest["icons"]:
        assert chat.page.request.get(icon["src"]).headers["content-type"] == "image/png"
    assert chat.page.request.get(manifest["start_url"]).ok
    devtools = chat.page.context.new_cdp_session(chat.page)
    found = devtools.send("Page.getAppManifest")
    assert found["errors"] == [] and found["url"].endswith(Path(link).name)
    errors = devtools.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert {error["errorId"] for error in errors} <= {"in-incognito"}  # as every test's window
