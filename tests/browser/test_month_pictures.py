"""The pictures of a month of work: the sidebar, an agent of one's own, a chat handed on, German."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.story import WALK
from tests.browser.test_accounts import sign_up
from tests.browser.test_importing import line_of
from tests.browser.test_own_agents import new_agent
from tests.browser.test_pictures import DESK, LAST_THREE, open_conversation, photograph
from tests.browser.test_sharing import make, stranger
from tests.browser.test_sidebar import restore
from tests.browser.watch import Watch
from tests.conversations.imports.exports import ROOT, chatgpt, node
from tests.fakes.openai_server import FakeOpenAI

pytestmark = [pytest.mark.browser, pytest.mark.thorough]
DAY = 86_400.0
# Chats of ChatGPT, with their age in days.
MONTH = {
    "Rooms for the fifth person": 1,
    "Knots for the dinghy": 1,
    "Bread without a mixer": 3,
    "Letter to the landlord": 4,
    "Tax return, part two": 5,
    "Birthday in the garden": 6,
    "What a quay costs": 9,
    "German dative, again": 12,
    "Paint for the hull": 15,
    "Reading list for winter": 19,
    "Bus times in May": 24,
    "A name for the boat": 28,
}
PINNED = ("What a quay costs", "Tax return, part two")
FOLDERS = {
    "Boat": ("Knots for the dinghy", "Paint for the hull", "A name for the boat"),
    "Coast walk": ("Rooms for the fifth person", "Bus times in May"),
}


def exported() -> bytes:
    chats = []
    for number, (title, days) in enumerate(MONTH.items()):
        at = time.time() - days * DAY
        turn = [
            ROOT,
            node("u", "root", "user", f"{title}?", at=at),
            node("a", "u", "assistant", f"{title}: here is a start.", at=at + 5),
        ]
        chats.append(
            chatgpt(*turn, id=f"c-{number}", title=title)
            | {"create_time": at, "update_time": at + 5}
        )
    return json.dumps(chats).encode()


def arrange(chat: Chat) -> None:
    """Pins and folders of the imported chats."""
    ids = {
        str(row.inner_text()): str(row.get_attribute("href")).rpartition("/")[2]
        for row in chat.page.locator(".conv-row a").all()
    }
    changes = [
        *((PINNED, {"pinned": True}),),
        *((titles, {"folder": folder}) for folder, titles in FOLDERS.items()),
    ]
    for titles, change in changes:
        body = {"ids": [ids[one] for one in titles], "set": change}
        assert chat.ask("POST", "/conversations/changes", body).ok


def test_a_month_in_the_sidebar(
    visit: Visit, fake: FakeOpenAI, pictures: Path, tmp_path: Path
) -> None:
    chat = open_conversation(visit(viewport=DESK), fake, query=LAST_THREE)
    file = tmp_path / "conversations.json"
    file.write_bytes(exported())
    restore(chat, file)
    report = chat.page.get_by_role("dialog", name="Chats from ChatGPT")
    expect(report).to_contain_text("12 chats", timeout=30_000)
    photograph(chat, pictures / "import-report.png")
    report.get_by_role("button", name="Close").click()
    line_of(chat).get_by_role("button", name="Close").click()
    arrange(chat)
    chat.reload()
    expect(chat.page.get_by_role("region", name="Pinned").locator(".conv-row")).to_have_count(2)
    chat.page.locator(".fold", has_text="Boat").click()
    photograph(chat, pictures / "sidebar.png")


def test_an_agent_of_ones_own_beside_the_chat_that_tries_it(
    visit: Visit, fake: FakeOpenAI, pictures: Path
) -> None:
    chat = visit(viewport=DESK).open()
    form = new_agent(chat)
    form.get_by_label("Name").fill("Kurz")
    form.get_by_label("Blue").check(force=True)
    form.get_by_label("Instructions").fill(
        "Answer in German, in one or two sentences. Use simple words."
    )
    form.get_by_role("button", name="Try it").click()
    expect(chat.page.locator("#agent-name")).to_contain_text("Kurz")
    fake.script.append("Der Mond zieht am Meer. Deshalb steigt und fällt das Wasser.")
    chat.say("Why are there tides?")
    expect(chat.conversations).to_have_count(1)
    photograph(chat, pictures / "own-agent.png")


def test_what_a_stranger_reads_of_a_shared_chat(
    visit: Visit, watch: Watch, fake: FakeOpenAI, pictures: Path
) -> None:
    chat = visit(viewport=DESK, permissions=["clipboard-read", "clipboard-write"]).open()
    sign_up(chat, "ada-of-the-pictures")
    chat.open("/chat?historyPolicy=lastN&historyLength=2")
    for question, reply in WALK:
        fake.script.append(reply)
        chat.say(question)
    assert chat.ask("PATCH", f"/conversations/{chat.id}", {"title": "Three days on the coast"}).ok
    expect(chat.row("Three days on the coast")).to_have_count(1)
    address = make(chat, "Three days on the coast", "what the model saw")
    page = stranger(visit, watch, address, viewport=DESK)
    expect(page.get_by_role("heading", name="Three days on the coast")).to_be_visible()
    page.evaluate("document.fonts.ready.then(() => 0)")
    page.screenshot(path=pictures / "shared.png", animations="disabled", caret="hide")
