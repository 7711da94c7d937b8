"""Limits are told in words, and nothing that was written is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import TimeoutError, expect

from chatsite.limits.table import MESSAGES, OPENS, SOCKETS
from tests.browser.chat import Chat
from tests.browser.conftest import provider_environment
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser

# A socket of the same guest sends the command until it is refused.
SPEND = """([command, times]) => new Promise((done) => {
  const socket = new WebSocket(location.origin.replace("http", "ws") + "/ws");
  socket.onopen = () => {
    for (let n = 0; n < times; n += 1) {
      socket.send(JSON.stringify({ agent: "demo", conversation: crypto.randomUUID(), ...command }));
    }
  };
  socket.onmessage = ({ data }) => {
    if (JSON.parse(data).code === "too_many") { socket.close(); done(); }
  };
})"""
# The same, on and on, so that little comes back before `window.over` is set; resolves at the first
# refusal.
KEEP_SPENDING = """(command) => new Promise((done) => {
  const socket = new WebSocket(location.origin.replace("http", "ws") + "/ws");
  const timer = setInterval(() => {
    if (window.over) { clearInterval(timer); socket.close(); }
    else if (socket.readyState === WebSocket.OPEN) {
      socket.send(JSON.stringify({ agent: "demo", conversation: crypto.randomUUID(), ...command }));
    }
  }, 60);
  socket.onmessage = ({ data }) => { if (JSON.parse(data).code === "too_many") done(); };
})"""
NONE = "00000000-0000-4000-8000-000000000000"
AGAIN = {"type": "again", "client_id": NONE, "message": NONE}
OPEN = {"type": "open"}
# Opens sockets until the server has closed one; keeps the others.
FILL = """(most) => new Promise((done) => {
  window.held = [];
  const next = () => {
    const socket = new WebSocket(location.origin.replace("http", "ws") + "/ws");
    socket.onclose = (event) => done(event.code);
    socket.onopen = () => { window.held.push(socket); if (window.held.length <= most) next(); };
  };
  next();
})"""


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The application with its own numbers."""
    folder = tmp_path_factory.mktemp("limits")
    with Server(folder, **provider_environment(fake, LIMITS_FACTOR="1")) as running:
        yield running
        running.kill()


def test_a_message_over_the_limit_says_how_long_to_wait_and_is_kept(chat: Chat) -> None:
    chat.page.evaluate(SPEND, [AGAIN, MESSAGES.burst + 5])
    chat.write("What would a quay cost?")
    chat.page.keyboard.press("Enter")
    notice = chat.page.get_by_text("Too many messages in a short time. Nothing was lost")
    expect(notice).to_be_visible()
    expect(chat.page.get_by_role("textbox", name="Message")).to_have_value(
        "What would a quay cost?"
    )
    assert not [text for author, text in chat.transcript() if author == "user"]


@pytest.mark.thorough
def test_a_conversation_that_was_opened_too_often_opens_by_itself_a_moment_later(
    chat: Chat,
) -> None:
    chat.turns("Hello")
    chat.page.evaluate(SPEND, [OPEN, OPENS.burst + 5])
    chat.page.evaluate(KEEP_SPENDING, OPEN)
    notice = chat.page.get_by_text("Too many opened conversations in a short time")
    for _ in range(6):  # of some opens the page's may be the one that is allowed
        chat.page.get_by_role("link", name="New chat").click()
        with suppress(TimeoutError):
            notice.wait_for(timeout=3_000)
            break
    expect(notice).to_be_visible()
    chat.page.evaluate("window.over = true")
    chat.turns("Hello again")
    expect(chat.receipt_buttons).to_have_count(1)


@pytest.mark.thorough
def test_one_window_too_many_says_so_in_words(chat: Chat) -> None:
    assert chat.page.evaluate(FILL, SOCKETS.most) == 4429
    other = Chat(chat.page.context.new_page())
    other.page.goto(chat.page.url)
    expect(other.page.locator("#banner")).to_have_text(
        "You have as many open connections as one person may have at the same time (32). "
        "Try again when one has ended."
    )
    chat.page.evaluate("window.held.forEach((socket) => socket.close())")
    expect(other.page.locator("#banner")).to_be_hidden()
