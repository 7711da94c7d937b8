"""A Talk room in the page: whom the file names reads all of it, and nobody changes anything."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, StorageState, expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit, provider_environment
from tests.browser.test_accessibility import NARROW, violations_in_every_look
from tests.browser.test_accounts import sign_up
from tests.browser.watch import Watch, failed_request
from tests.demo.demo import ADA, ADAS_PASSWORD, ROOM, Demo
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def demo(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    folder = tmp_path_factory.mktemp("rooms") / "demo"
    with Demo(folder, provider_environment(fake, SIGNUP="true"), has_mail=False) as running:
        fake.script.append("It is 120 metres long.")
        say(running, "ada", "How long is the quay?", answers=1)
        yield running


@pytest.fixture(scope="module")
def server(demo: Demo) -> Server:
    return demo.server


def say(demo: Demo, who: str, text: str, *, answers: int) -> None:
    """Write it in the room, and wait until there are so many answers."""
    demo.talk.say(ROOM, who, text)
    deadline = time.monotonic() + 30
    while sum(line.startswith("Assistant: ") for line in demo.talk.shown(ROOM)) < answers:
        assert time.monotonic() < deadline, demo.talk.shown(ROOM)
        time.sleep(0.05)


@pytest.fixture(scope="module")
def signed_in(browser: Browser, server: Server) -> StorageState:
    """Ada's cookies after she signed in."""
    context = browser.new_context(base_url=server.url)
    sign_in(Chat(context.new_page()), ADA, ADAS_PASSWORD)
    found = context.storage_state()
    context.close()
    return found


@pytest.fixture
def chat(visit: Visit, signed_in: StorageState) -> Chat:
    """Ada, signed in, in the room."""
    chat = visit(storage_state=signed_in).open()
    room = chat.page.get_by_role("region", name="Talk rooms")
    room.get_by_role("link", name="Harbour works").click()
    expect(chat.page.locator("#room-note")).to_be_visible()
    return chat


def sign_in(chat: Chat, name: str, password: str) -> None:
    chat.page.goto("/accounts/login/?next=/chat")
    chat.page.get_by_label("Username").fill(name)
    chat.page.get_by_label("Password").fill(password)
    chat.page.get_by_role("button", name="Sign in").click()
    expect(chat.page.locator("#draft")).to_be_visible()


def test_a_reader_sees_who_said_what_and_can_write_nothing(chat: Chat) -> None:
    page = chat.page
    expect(page.locator("article.m.user .who").first).to_contain_text("Ada, in Talk")
    expect(page.locator("article.m.user .body").first).to_have_text("How long is the quay?")
    expect(page.locator("article.m.assistant").first).to_contain_text("120 metres")
    expect(page.locator("#room-note")).to_contain_text("This is the Talk room “Harbour works”.")
    expect(page.locator("#composer")).to_be_hidden()


def test_only_what_changes_nothing_is_offered(chat: Chat) -> None:
    page = chat.page
    row = page.locator("article.m.assistant").first
    row.hover()
    labels = row.get_by_role("button").evaluate_all(
        "all => all.map((one) => one.getAttribute('aria-label') || one.textContent.trim())"
    )
    assert [label.partition(" “")[0] for label in labels] == [
        *("Copy", "What the model saw", "More actions for"),
    ]
    row.get_by_role("button", name="More actions").click()
    expect(page.locator(".pop:visible button")).to_have_text(["Why is this sent?"])


def test_the_receipt_says_that_the_room_decided(chat: Chat) -> None:
    page = chat.page
    row = page.locator("article.m.assistant").first
    row.hover()
    row.get_by_role("button", name="What the model saw").click()
    panel = page.locator("#panel")
    expect(panel).to_contain_text("3 user messages")
    expect(chat.fact("Source")).to_have_text("room")
    expect(panel).to_contain_text("Ada How long is the quay?")
    page.locator("#chip").click()
    expect(page.locator(".pop:visible")).to_contain_text("has set this room's memory")


def test_a_link_opens_the_receipt_of_its_answer(chat: Chat) -> None:
    conversation = chat.id
    answers = chat.ask("GET", f"/conversations/{conversation}/messages?before=1000").json()
    turn = next(one["turn"] for one in answers["messages"] if one["turn"])
    chat.page.goto("about:blank")
    chat.page.goto(f"/chat/{conversation}?debug=true#receipt-{turn}")
    expect(chat.panel).to_contain_text("turn 1")
    last_answer = chat.panel.get_by_role("button", name="Last answer", pressed=True)
    expect(last_answer).to_be_visible()


def test_what_is_written_in_the_room_arrives_while_it_is_read(
    chat: Chat, demo: Demo, fake: FakeOpenAI
) -> None:
    fake.script.append(answer("Four metres."))
    say(demo, "grace", "And how deep is the water?", answers=2)
    expect(chat.page.locator("article.m.user .who").last).to_contain_text("Grace, in Talk")
    expect(chat.page.locator("article.m.assistant").last).to_contain_text("Four metres.")


def test_nobody_else_finds_the_room(visit: Visit, chat: Chat, watch: Watch) -> None:
    watch.allow(failed_request(404))
    stranger, guest = visit(), visit().open()
    sign_up(stranger, f"bob-{secrets.token_hex(4)}")
    for other in (stranger, guest):
        expect(other.page.get_by_role("region", name="Talk rooms")).to_have_count(0)
        response = other.page.goto(chat.page.url)
        assert response is not None and response.status == 404


def test_the_server_refuses_what_the_page_does_not_offer(chat: Chat) -> None:
    page = chat.page
    conversation = chat.id
    assert chat.ask("DELETE", f"/conversations/{conversation}").status == 404
    assert chat.ask("POST", f"/conversations/{conversation}/clear").status == 404
    assert chat.ask("PATCH", f"/conversations/{conversation}", {"title": "Mine"}).status == 404
    expect(page.locator("article.m.user").first).to_be_visible()


def test_a_room_is_readable_in_light_dark_and_narrow(chat: Chat) -> None:
    chat.page.set_viewport_size(NARROW)
    assert chat.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert violations_in_every_look(chat.page) == []
