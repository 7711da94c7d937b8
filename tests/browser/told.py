"""A page whose server is the test: it tells events by hand and hears what the page asks for."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from playwright.sync_api import WebSocketRoute, expect

from chatsite.events import Engine, Event, Preview, Reply, Snapshot
from chatsite.messages import Message
from chatsite.views import ConversationView, MessageView, State, TurnView
from tests.browser.chat import Chat

NOW = "2026-01-31T12:00:00+00:00"
PROVIDER = {"kind": "openai", "label": "a model", "note": ""}
AGENT: dict[str, Any] = {
    "slug": "demo",
    "name": "Demo",
    "description": "",
    "greeting": [],
    "prompts": [],
    "tags": [],
    "provider": PROVIDER,
    "broken": None,
}
# What is being written is drawn at most once in 40 ms.
SETTLED = "() => new Promise((done) => setTimeout(() => requestAnimationFrame(done), 60))"
# Attributes in one order, whenever they were set.
CANONICAL = """() => [...document.querySelectorAll("#col article.m")].map((one) => {
  const copy = one.cloneNode(true);
  for (const element of [copy, ...copy.querySelectorAll("*")]) {
    const said = [...element.attributes].sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const { name } of said) element.removeAttribute(name);
    for (const { name, value } of said) element.setAttribute(name, value);
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
        engine=Engine(state="ready", sentence="", provider=PROVIDER).to_dict(),
        **more,
    )


class Told:
    """`page` shows what it is told; `asked` are its commands but for previews."""

    def __init__(self, chat: Chat, first: Snapshot, decision: dict[str, Any] | None = None) -> None:
        self.chat = chat
        self.snapshot = first
        self.decision = decision
        self.asked: list[dict[str, Any]] = []
        self.count = 0
        chat.page.route_web_socket(re.compile(r"/ws"), self._connected)
        self._open()

    def tell(self, *events: Event | Reply) -> None:
        """The page chose the conversation's id itself."""
        for event in events:
            said = event.to_dict()
            if said.get("conversation"):
                said["conversation"]["id"] = self.id
            if "conversation_id" in said:
                said["conversation_id"] = self.id
            self.socket.send(json.dumps(said))

    def _open(self) -> None:
        """Not under its own address: the server knows nothing of what is told."""
        self.chat.page.goto("/chat?agent=demo")
        self.chat.messages.first.wait_for()

    def _connected(self, socket: WebSocketRoute) -> None:
        self.socket = socket
        socket.on_message(self._heard)

    def _heard(self, frame: str | bytes) -> None:
        command = json.loads(frame)
        if command["type"] == "open":
            self.id = command["conversation"]
            self.tell(self.snapshot)
        elif command["type"] == "preview":
            self.tell(Preview(ref=command["ref"], decision=self.decision))
        else:
            self.asked.append(command)

    def commands(self, kind: str) -> list[dict[str, Any]]:
        """Those of a kind that the page has sent until now."""
        self.chat.page.evaluate("0")  # what is on its way arrives before the answer
        return [one for one in self.asked if one["type"] == kind]

    def html(self) -> str:
        """The transcript; how long a thought took is known only where somebody watched."""
        found: str = self.chat.page.evaluate(CANONICAL)
        return re.sub(r"Thought for [^<]*", "Thoughts", found)

    def expect_the_same(self, fresh: Snapshot) -> None:
        """A fresh snapshot changes nothing of what is shown. A new title says that it is there."""
        page = self.chat.page
        page.evaluate(SETTLED)
        before, self.count = self.html(), self.count + 1
        self.snapshot = replace(fresh, conversation=replace(CONVERSATION, title=f"{self.count}"))
        self.tell(self.snapshot)
        expect(page).to_have_title(f"{self.count} · Chatsite")
        page.evaluate(SETTLED)
        assert self.html() == before

    def expect_the_same_in_a_new_page(self) -> None:
        before = self.html()
        self._open()
        self.chat.page.evaluate(SETTLED)
        assert self.html() == before
