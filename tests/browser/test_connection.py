"""Connections break and servers die: nothing is lost and nothing is sent twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import WebSocketRoute, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit, provider_environment
from tests.browser.watch import OFFLINE, Watch
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser
AWAY = "Offline – reconnecting"
KEEP_SOCKETS = """
window.lines = [];
window.closings = [];
window.WebSocket = class extends WebSocket {
  constructor(...rest) {
    super(...rest);
    window.lines.push(this);
    this.addEventListener("close", (event) => window.closings.push(event.code));
  }
};
"""


def break_off_when(kind: str, *, delivered: bool) -> Callable[[WebSocketRoute], None]:
    """Break the connection once, at the first command of this kind: `delivered` says whether the
    server gets the command (its answer is lost) or not."""
    broken: list[str] = []

    def handle(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def from_page(frame: str | bytes) -> None:
            if not broken and json.loads(frame)["type"] == kind:
                broken.append(kind)
                server.on_message(lambda answer: socket.close(code=1011))
                if delivered:
                    server.send(frame)
                else:
                    socket.close(code=1011)
                return
            server.send(frame)

        socket.on_message(from_page)

    return handle


@pytest.mark.parametrize("delivered", [True, False], ids=["after", "before"])
def test_a_message_whose_connection_broke_is_sent_again_and_stored_once(
    delivered: bool, visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit()
    chat.page.route_web_socket("**/ws", break_off_when("send", delivered=delivered))
    chat.open()
    requests_before = len(fake.requests)
    chat.say("Is this heard once?")
    expect(chat.users).to_have_count(1)
    assert len(fake.requests) == requests_before + 1
    assert [one["role"] for one in chat.stored()] == ["assistant", "user", "assistant"]


def test_a_message_that_failed_and_may_be_stored_is_sent_again_as_the_same_one(
    visit: Visit,
) -> None:
    sent: list[str] = []

    def refuse_first(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def from_page(frame: str | bytes) -> None:
            command = json.loads(frame)
            if command["type"] == "send":
                sent.append(command["client_id"])
            if len(sent) == 1 and command["type"] == "send":
                problem = {"code": "internal", "message": "It failed.", "seconds": 5}
                socket.send(json.dumps({"type": "refused", "ref": command["ref"], **problem}))
            else:
                server.send(frame)

        socket.on_message(from_page)

    chat = visit()
    chat.page.route_web_socket("**/ws", refuse_first)
    chat.open()
    chat.write("Is this heard once?")
    expect(chat.draft).to_have_value("Is this heard once?")
    chat.draft.press("Enter")
    expect(chat.receipt_buttons).to_have_count(1)
    chat.say("Is this heard once?")
    first, again, another = sent
    assert first == again != another


def test_a_message_sent_offline_is_delivered_once_and_a_draft_is_kept(
    chat: Chat, fake: FakeOpenAI, watch: Watch
) -> None:
    watch.allow(OFFLINE)
    requests_before = len(fake.requests)
    chat.page.context.set_offline(True)
    expect(chat.banner).to_contain_text(AWAY)
    chat.write("Sent while offline.")
    expect(chat.users.locator(".state")).to_have_text("sending…")
    chat.draft.fill("A draft.")
    chat.page.context.set_offline(False)
    expect(chat.receipt_buttons).to_have_count(1)
    expect(chat.banner).to_be_hidden()
    expect(chat.draft).to_have_value("A draft.")
    expect(chat.users).to_have_count(1)
    assert len(fake.requests) == requests_before + 1
    chat.reload()
    expect(chat.draft).to_have_value("A draft.")
    expect(chat.users).to_have_count(1)


def test_an_answer_is_complete_after_the_page_was_offline_in_the_middle_of_it(
    chat: Chat, watch: Watch
) -> None:
    watch.allow(OFFLINE)
    chat.begin("Count. [[tokens=80;rate=20]]", shows="w5")
    chat.page.context.set_offline(True)
    expect(chat.banner).to_contain_text(AWAY)
    chat.page.context.set_offline(False)
    expect(chat.receipt_buttons).to_have_count(1)
    whole = " ".join(f"w{n}" for n in range(80))
    expect(chat.answers.last.locator(".body")).to_have_text(whole)


def test_a_frame_that_is_too_long_closes_the_socket_and_the_page_reconnects(visit: Visit) -> None:
    chat = visit()
    chat.page.add_init_script(KEEP_SOCKETS)
    chat.open()
    for number, size in enumerate((65_537, 5_000_000), start=1):
        with chat.page.expect_websocket():
            chat.page.evaluate("(size) => lines.at(-1).send('x'.repeat(size))", size)
        assert chat.page.evaluate("closings") == [1009] * number
        expect(chat.say("Are you back?")).to_be_visible()


@pytest.mark.thorough
def test_after_kill_9_the_text_up_to_the_last_second_is_there_and_marked_interrupted(
    visit: Visit, fake: FakeOpenAI, watch: Watch, tmp_path: Path
) -> None:
    watch.allow(OFFLINE)
    with Server(tmp_path / "var", **provider_environment(fake)) as server:
        chat = visit(base_url=server.url).open()
        chat.begin("Count. [[tokens=900;rate=20]]", shows="w19")
        # More than a second later, so that the first words are saved.
        expect(chat.writing.locator(".body")).to_contain_text("w45")
        server.kill()
        expect(chat.banner).to_contain_text(AWAY)
        expect(chat.answers.last.locator(".body")).to_contain_text("w19")
        server.start()
        expect(chat.endings.last).to_contain_text("What was written is kept.")
        expect(chat.answers.last.locator(".body")).to_contain_text("w19")
        expect(chat.banner).to_be_hidden()
        assert "w19" in chat.stored()[-1]["content"]
        expect(chat.say("Once more, please.")).to_contain_text("w5")
        chat.reload()
        expect(chat.users).to_have_count(2)
        expect(chat.writing).to_have_count(0)
