"""A page whose server is the test: the test sends events and records the page's commands."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from playwright.sync_api import WebSocketRoute, expect

from chatsite.events import EngineStatus, Event, Preview, Reply, Snapshot
from chatsite.messages import Message
from chatsite.views import ConversationView, MessageView, State, TurnView
from tests.browser.chat import Chat

NOW = "2026-01-31T12:00:00+00:00"
PROVIDER = {"kind": "openai", "label": "a model", "note": ""}
AGENT: dict[str, Any] = {
    "slug": "demo",
    "name": "Memo",
    "description": "",
    "greeting": [],
    "prompts": [],
    "tags": [],
    "provider": PROVIDER,
    "broken": None,
}
# The page draws an answer that is being written at most once in 40 ms.
SETTLED = "() => new Promise((done) => setTimeout(() => requestAnimationFrame(done), 60))"
# Sorts the attributes: their order depends on when they were set.
CANONICAL = """() => [...document.querySelectorAll("#col article.m")].map((one) => {
  const copy = one.cloneNode(true);
  for (const element of [copy, ...copy.querySelectorAll("*")]) {
    const attributes = [...element.attributes].sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const { name } of attributes) element.removeAttribute(name);
    for (const { name, value } of attributes) element.setAttribute(name, value);
  }
  return copy.outerHTML;
}).join("")"""
CONVERSATION = ConversationView(id="c", agent="demo", title="Told", created=NOW, updated=NOW)


def view(message: Message, seq: int, state: State = "complete", **more: Any) -> MessageView:
    turn = "t" if message.role == "assistant" else None
    return MessageView(message=message, seq=seq, state=state, created=NOW, **{"turn": turn} | more)


def snapshot(*messages: MessageView, turn: TurnView | None = None, **more: Any) -> Snapshot:
    return Snapshot(
        conversation_id="c",
        conversation=CONVERSATION,
        agent=AGENT,
        messages=messages,
        earlier=False,
        turn=turn,
        receipt=more.pop("receipt", None),
        engine=EngineStatus(state="ready", sentence="", provider=PROVIDER).to_dict(),
        **more,
    )


class ScriptedPage:
    """`send` gives the page events; `received` are the page's commands except previews."""

    def __init__(self, chat: Chat, first: Snapshot, decision: dict[str, Any] | None = None) -> None:
        self.chat = chat
        self.snapshot = first
        self.decision = decision
        self.received: list[dict[str, Any]] = []
        self.count = 0
        chat.page.route_web_socket(re.compile(r"/ws"), self._on_connection)
        self._open()

    def send(self, *events: Event | Reply) -> None:
        """Put in the conversation's id, which the page chose itself."""
        for event in events:
            payload = event.to_dict()
            if payload.get("conversation"):
                payload["conversation"]["id"] = self.id
            if "conversation_id" in payload:
                payload["conversation_id"] = self.id
            self.socket.send(json.dumps(payload))

    def _open(self) -> None:
        """Open a new chat: the real server doesn't know the scripted conversation.

        The title shows that the snapshot arrived: a greeting is drawn before the socket opens.
        """
        self.chat.page.goto("/chat?agent=demo")
        conversation = self.snapshot.conversation or CONVERSATION
        expect(self.chat.page).to_have_title(f"{conversation.title} · Chatsite")
        self.chat.messages.first.wait_for()

    def _on_connection(self, socket: WebSocketRoute) -> None:
        self.socket = socket
        socket.on_message(self._on_frame)

    def _on_frame(self, frame: str | bytes) -> None:
        command = json.loads(frame)
        if command["type"] == "open":
            self.id = command["conversation"]
            self.send(self.snapshot)
        elif command["type"] == "preview":
            self.send(Preview(ref=command["ref"], decision=self.decision))
        else:
            self.received.append(command)

    def commands(self, kind: str) -> list[dict[str, Any]]:
        """The commands of one kind that the page has sent so far."""
        self.chat.page.evaluate("0")  # commands on their way arrive before this answer
        return [one for one in self.received if one["type"] == kind]

    def html(self) -> str:
        """The transcript, without durations of thoughts, which a new page does not know."""
        found: str = self.chat.page.evaluate(CANONICAL)
        return re.sub(r"Thought for [^<]*", "Thoughts", found)

    def expect_no_change(self, fresh: Snapshot) -> None:
        """A fresh snapshot doesn't change the transcript; its new title shows that it arrived."""
        page = self.chat.page
        page.evaluate(SETTLED)
        before, self.count = self.html(), self.count + 1
        self.snapshot = replace(fresh, conversation=replace(CONVERSATION, title=f"{self.count}"))
        self.send(self.snapshot)
        expect(page).to_have_title(f"{self.count} · Chatsite")
        page.evaluate(SETTLED)
        assert self.html() == before

    def expect_no_change_in_a_new_page(self) -> None:
        before = self.html()
        self._open()
        self.chat.page.evaluate(SETTLED)
        assert self.html() == before
