"""The pictures of docs/channels.md, made by the demonstration; only where PICTURES is set."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit, provider_environment
from tests.browser.test_rooms import say, sign_in
from tests.demo.demo import ADA, ADAS_PASSWORD, ROOM, Demo
from tests.fakes.openai_server import FakeOpenAI
from tests.running import ROOT, Server

pytestmark = pytest.mark.browser
SMALL: ViewportSize = {"width": 820, "height": 560}
WITH_PANEL: ViewportSize = {"width": 1280, "height": 760}
# Who says what in the room, and what is answered.
TALK = [
    ("grace", "The crane on the west quay is down again.", "Noted. Do you know what failed?"),
    ("ada", "The hoist brake. The fitter comes on Thursday.", "Then Thursday it is."),
    ("grace", "A coaster wants to unload on Wednesday.", "Send her to the east quay on Wednesday."),
    ("ada", "When does the fitter come?", "On Thursday, for the hoist brake of the west crane."),
]
MAIL = (
    "What do I tell the coaster?",
    "Tell her that the west crane is being mended, and that the east quay is free on Wednesday.",
)


@pytest.fixture(scope="module")
def pictures() -> Path:
    folder = ROOT / os.environ["PICTURES"] / "channels"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def demo(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with Demo(tmp_path_factory.mktemp("channels") / "demo", provider_environment(fake)) as demo:
        yield demo


@pytest.fixture(scope="module")
def server(demo: Demo) -> Server:
    return demo.server


def test_the_room_the_page_and_the_mailbox(
    visit: Visit, demo: Demo, fake: FakeOpenAI, pictures: Path
) -> None:
    for count, (who, text, reply) in enumerate(TALK, 1):
        fake.script.append(reply)
        say(demo, who, text, answers=count)
    fake.script.append(MAIL[1])
    assert demo.mail is not None
    demo.mail.write("The coaster", MAIL[0])
    demo.mail.sink.wait(1)

    room = visit(viewport=SMALL)
    room.page.goto(f"{demo.talk.url}/{ROOM}")
    room.page.screenshot(path=pictures / "room.png", full_page=True)

    mail = visit(viewport=SMALL)
    mail.page.goto(demo.mail.url)
    expect(mail.page.locator("article")).to_have_count(2)
    mail.page.screenshot(path=pictures / "mail.png", full_page=True)

    chat = visit(viewport=WITH_PANEL)
    sign_in(chat, ADA, ADAS_PASSWORD)
    chat.page.goto(f"/chat/{_conversation(chat)}?debug=true")
    expect(chat.page.locator("article.m.assistant")).to_have_count(len(TALK))
    expect(chat.page.locator("#panel")).to_contain_text("room")
    chat.page.screenshot(path=pictures / "room-in-the-page.png")


def _conversation(chat: Chat) -> str:
    rooms = chat.page.evaluate("JSON.parse(document.getElementById('page').textContent).rooms")
    return str(rooms[0]["id"])
