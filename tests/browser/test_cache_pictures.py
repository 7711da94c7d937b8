"""The pictures of the engine's cache, made by the running application with the model on this
machine: only where PICTURES names a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Locator, ViewportSize, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.running import ROOT, Server

pytestmark = [pytest.mark.browser, pytest.mark.engine]
DESK: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 400, "height": 860}
LARGEST = 250_000
LOADS = 90_000
QUESTIONS = (
    "What is a quay?",
    "Why does the tide come twice a day?",
    "How deep does a harbour have to be?",
    "What does a pilot do?",
    "Who decides when a harbour is dredged?",
)


@pytest.fixture(scope="module")
def pictures() -> Path:
    folder = ROOT / os.environ["PICTURES"]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def take(chat: Chat, path: Path, *shown: Locator) -> None:
    for place in shown:
        expect(place).to_be_in_viewport(ratio=0.9)
    chat.page.mouse.move(0, 0)
    chat.page.evaluate("document.fonts.ready.then(() => 0)")
    chat.page.screenshot(path=path, animations="disabled", caret="hide")
    assert path.stat().st_size < LARGEST, path


def scroll_to_top(place: Locator) -> None:
    place.evaluate(
        """(one) => {
          const box = one.closest(".log, .insp");
          box.scrollTop += one.getBoundingClientRect().top - box.getBoundingClientRect().top - 70;
        }"""
    )


def test_the_cache_after_a_cleanup(visit: Visit, tmp_path: Path, pictures: Path) -> None:
    with Server(tmp_path / "var", CHAT_ENGINE="auto", OPENAI_API_KEY="") as server:
        chat = visit(base_url=server.url, viewport=DESK).open("/chat?agent=demo&debug=true")
        expect(chat.page.locator("#engine")).to_be_hidden(timeout=LOADS)
        for number, question in enumerate(QUESTIONS, 1):
            chat.write(question)
            expect(chat.receipt_buttons).to_have_count(number, timeout=LOADS)
            expect(chat.writing).to_have_count(0)
        assert chat.ask("PATCH", f"/conversations/{chat.id}", {"title": "The harbour"}).ok
        part = chat.panel.locator("[data-section=cache]")
        expect(part.locator(".kv-turns tbody tr")).to_have_count(len(QUESTIONS))
        part.get_by_role("button", name="Keep the newer half").click()
        expect(part.locator(".kv-back")).to_be_visible()
        mark = chat.page.locator(".mark.unloaded").last
        expect(mark).to_be_visible()
        expect(chat.toasts.locator(".toast")).to_have_count(0)
        # Unloaded messages leave the cache a moment later, without a request.
        expect(part.locator(".kv-marked[role=option]")).to_have_count(0, timeout=LOADS)
        part.locator("[role=option].kv-loaded").first.click()
        scroll_to_top(chat.users.filter(has=chat.page.locator(".mark.unloaded")).last)
        scroll_to_top(part)
        strip = part.get_by_role("listbox")
        take(chat, pictures / "panel-cache.png", strip, mark)
        chat.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        take(chat, pictures / "panel-cache-dark.png", strip, mark)
        chat.page.set_viewport_size(PHONE)
        scroll_to_top(part)
        take(chat, pictures / "panel-cache-phone.png", strip)
        chat.page.close()
