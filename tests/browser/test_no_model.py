"""Without a model the echo provider answers, and the page says why and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.running import Server

pytestmark = pytest.mark.browser


def test_an_engine_that_can_not_run_is_explained_in_the_conversation(
    visit: Visit, tmp_path: Path
) -> None:
    model = tmp_path / "notes.gguf"
    model.write_text("not a model")
    with Server(tmp_path / "var", CHAT_ENGINE="auto", CHAT_MODEL_PATH=str(model)) as server:
        chat = visit(base_url=server.url).open()
        line = chat.page.locator("#engine")
        expect(line).to_contain_text("CHAT_MODEL_PATH names notes.gguf")
        expect(chat.page.locator("#model")).to_have_text("Echo (no model)")
        chat.say("Is anybody there?")
        expect(chat.answers.last).to_contain_text("Echo: you said “Is anybody there?”")
        expect(line).to_contain_text("Correct it and start the server again.")
        chat.page.close()  # the page would look for the server, which stops here
