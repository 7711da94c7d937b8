"""The embedded model in the browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.running import Server

pytestmark = [pytest.mark.browser, pytest.mark.engine]
LOADS = 90_000


def test_the_embedded_model_answers_and_the_page_calls_it_a_demonstration(
    visit: Visit, tmp_path: Path
) -> None:
    with Server(tmp_path / "var", CHAT_ENGINE="auto", OPENAI_API_KEY="") as server:
        chat = visit(base_url=server.url)
        chat.page.goto("/chat?agent=demo")
        expect(chat.page.locator("#col .intro-model")).to_contain_text("demonstration")
        expect(chat.page.locator("#engine")).to_be_hidden(timeout=LOADS)
        chat.write("What is photosynthesis?")
        expect(chat.receipt_buttons).to_have_count(1, timeout=LOADS)
        expect(chat.endings).to_have_count(0)
        assert len(chat.answers.last.locator(".body").inner_text().split()) > 3
        expect(chat.page.locator("#model")).to_contain_text("SmolLM2")
        chat.page.close()  # the page would look for the server, which stops here
