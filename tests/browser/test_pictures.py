"""The pictures of the documentation, made by the running application.

They are written to the folder that PICTURES names; otherwise to a temporary one, so that a run of
the tests changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit, provider_environment
from tests.browser.story import DRAFT, ITINERARY, REASON, WALK, restore_others
from tests.browser.test_marks import choose
from tests.browser.test_side_by_side import answer_otherwise
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = [pytest.mark.browser, pytest.mark.thorough]
DESK = {"width": 1440, "height": 1000}
PHONE = {"width": 400, "height": 860}
LARGEST = 300_000


@pytest.fixture(scope="module")
def locked(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    environment = {
        "HISTORY_POLICY": "lastN", "HISTORY_LENGTH": "3", "HISTORY_TOKENS": "1000",
        "HISTORY_REASON": REASON,
    }  # fmt: skip
    with Server(
        tmp_path_factory.mktemp("lock"), **provider_environment(fake, **environment)
    ) as running:
        yield running
        running.kill()


def open_conversation(chat: Chat, fake: FakeOpenAI, *, query: str) -> Chat:
    """Open the conversation of the pictures, with a few others in the list."""
    chat.open(f"/chat?{query}")
    restore_others(chat)
    for question, reply in WALK:
        fake.script.append(reply)
        chat.say(question)
    assert chat.ask("PATCH", f"/conversations/{chat.id}", {"title": "Three days on the coast"}).ok
    expect(chat.page).to_have_title("Three days on the coast · Chatsite")
    expect(chat.row("Three days on the coast")).to_have_count(1)
    expect(chat.horizon).to_be_visible()
    expect(chat.page.locator(".hljs-keyword").first).to_be_visible()
    words = chat.meter.locator(".meter-words")
    # The preview after the last answer counts the walk.
    expect(words).to_contain_text(f"of {len(WALK)} exchanges")
    empty = words.inner_text()
    chat.draft.fill(DRAFT)
    expect(words).not_to_have_text(empty)
    return chat


def take(chat: Chat, path: Path) -> None:
    """At the end of the conversation, with its line."""
    expect(chat.horizon).to_be_in_viewport(ratio=1)
    expect(chat.page.locator("#newest")).to_be_hidden()
    photograph(chat, path)


def photograph(chat: Chat, path: Path) -> None:
    expect(chat.page.locator("body")).not_to_contain_text("[object ")
    chat.page.evaluate("document.fonts.ready.then(() => 0)")
    chat.page.screenshot(path=path, animations="disabled", caret="hide")
    assert path.stat().st_size < LARGEST


def wait_for_comparison(chat: Chat) -> None:
    """Wait until the comparison is about the draft: its current row has the meter's tokens."""
    tokens = chat.meter.locator(".meter-words").inner_text().split()[0]
    expect(chat.panel.locator(".compare .now td").nth(1)).to_have_text(tokens)


LAST_THREE = "historyPolicy=lastN&historyLength=3&historyTokens=1000"
LAST_TWO = "historyPolicy=lastN&historyLength=2"


def test_the_conversation_in_light_and_dark(visit: Visit, fake: FakeOpenAI, pictures: Path) -> None:
    chat = open_conversation(visit(viewport=DESK), fake, query=LAST_THREE)
    take(chat, pictures / "chat-light.png")
    chat.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    take(chat, pictures / "chat-dark.png")


def test_the_panel_beside_the_conversation(visit: Visit, fake: FakeOpenAI, pictures: Path) -> None:
    chat = open_conversation(visit(viewport=DESK), fake, query=f"{LAST_THREE}&debug=true")
    wait_for_comparison(chat)
    take(chat, pictures / "panel.png")


def test_the_phone(visit: Visit, fake: FakeOpenAI, pictures: Path) -> None:
    chat = open_conversation(visit(viewport=PHONE), fake, query=LAST_TWO)
    take(chat, pictures / "phone.png")


def test_the_lock_and_its_reason(
    visit: Visit, locked: Server, fake: FakeOpenAI, pictures: Path
) -> None:
    chat = visit(viewport=DESK, base_url=locked.url)
    open_conversation(chat, fake, query="historyPolicy=all&debug=true")
    wait_for_comparison(chat)
    chat.chip.click()
    expect(chat.popover).to_contain_text(REASON)
    take(chat, pictures / "lock.png")


def test_a_search_shows_each_place(visit: Visit, fake: FakeOpenAI, pictures: Path) -> None:
    chat = open_conversation(visit(viewport=DESK), fake, query=LAST_THREE)
    chat.page.locator("#find").fill("day")
    expect(chat.page.locator(".hit")).to_have_count(9)
    take(chat, pictures / "search.png")


def test_the_first_page(visit: Visit, pictures: Path) -> None:
    chat = visit(viewport=DESK).open()
    expect(chat.page.locator(".drawing-line")).to_be_visible()
    photograph(chat, pictures / "first-page.png")


def test_the_versions_of_a_message_and_what_can_be_done(
    visit: Visit, fake: FakeOpenAI, pictures: Path
) -> None:
    chat = open_conversation(visit(viewport=DESK), fake, query=LAST_THREE)
    chat.draft.fill("")
    fake.script.append("Four people for three days at 70 euros are 4 × 3 × 70 = **840 euros**.")
    asked = chat.users.nth(1)
    choose(asked, "Edit")
    box = asked.get_by_role("group", name="Edit the message").get_by_role("textbox")
    box.fill("Each of us can spend 70 euros a day. How much is that for everybody?")
    box.press("Control+Enter")
    expect(chat.answers.last).to_contain_text("840 euros")
    expect(chat.writing).to_have_count(0)
    expect(chat.users.last).to_contain_text("2 / 2")
    chat.toasts.get_by_role("button", name="Show them").wait_for()
    chat.page.locator("#toasts").evaluate("(it) => it.replaceChildren()")  # the menu comes over it
    chat.users.last.hover()
    chat.users.last.get_by_role("button", name="More actions for").click()
    expect(chat.popover).to_contain_text("Continue in a new chat")
    photograph(chat, pictures / "versions.png")


def test_messages_that_wait_for_an_answer(visit: Visit, fake: FakeOpenAI, pictures: Path) -> None:
    chat = open_conversation(visit(viewport=DESK), fake, query=LAST_THREE)
    chat.draft.fill("")
    fake.script.append(answer(ITINERARY * 9, rate=40))
    chat.begin("Now tell us the whole way.", shows="small bays")
    chat.write("And what if it rains all three days?")
    chat.write("Which bus goes back on a Sunday?")
    expect(chat.page.locator("#queue .queue-text")).to_have_count(2)
    photograph(chat, pictures / "waiting.png")


def test_two_answers_side_by_side(visit: Visit, fake: FakeOpenAI, pictures: Path) -> None:
    chat = open_conversation(visit(viewport=DESK), fake, query=LAST_THREE)
    chat.draft.fill("")
    fake.script.append("Of which budget? I see no numbers before this message.")
    answer_otherwise(chat)
    window = chat.page.get_by_role("dialog", name="Two answers to the same question")
    expect(window).to_contain_text("I see no numbers")
    photograph(chat, pictures / "side-by-side.png")
