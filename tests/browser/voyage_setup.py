"""Store the voyage's sixty turns, and a fake provider that knows only what a request contains."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping
from itertools import takewhile
from typing import Any

from tests.browser.chat import Chat
from tests.browser.chat import answer as quoted
from tests.browser.voyage import (
    DINNER,
    FOUND,
    GATE,
    LOST,
    NOTES,
    PANCAKES,
    QUESTION,
    TITLE,
    voyage,
)
from tests.fakes.openai_prompts import prompt_tokens
from tests.fakes.openai_server import FakeOpenAI
from tests.person import kind_of
from tests.running import ROOT, Server

# Tokens that OpenAI's cache keeps at least, and in steps of how many.
LEAST, STEP = 1024, 128


def store_voyage(
    chat: Chat,
    server: Server,
    fake: FakeOpenAI,
    *,
    agent: str = "demo",
    query: str = "",
    keep: Collection[int] = (),
) -> str:
    """Store the voyage for this guest under the settings of `query`; return the conversation's id.

    Turns in `keep` begin with "Keep:". The page must have been open once, so that the guest is
    known.
    """
    fake.script.append(voyage_answers())
    cookies = {kind_of(one["name"]): one["value"] for one in chat.page.context.cookies()}
    options = {"session": cookies["session"], "agent": agent, "query": query, "keep": list(keep)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.browser.past_turns", json.dumps(options)],
        cwd=ROOT,
        env=dict(server.environment),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    conversation = done.stdout.strip()
    assert chat.ask("PATCH", f"/conversations/{conversation}", {"title": TITLE}).ok
    return conversation


def voyage_answers() -> Callable[[Mapping[str, Any]], str]:
    """The fake provider's answer function: it uses only what the request contains, and serves the
    beginning that equals the request before from a cache, as OpenAI does."""
    answers = {turn.question: turn.answer for turn in voyage()} | {DINNER: PANCAKES}
    before: list[Any] = []

    def cached(messages: list[Any]) -> int:
        pairs = zip(messages, before, strict=False)
        same = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
        before[:] = messages
        tokens = prompt_tokens({"messages": same}) // STEP * STEP
        return tokens if tokens >= LEAST else 0

    def answer(body: Mapping[str, Any]) -> str:
        return quoted(said(body), cached=cached(body["messages"]))

    def said(body: Mapping[str, Any]) -> str:
        texts = [str(message["content"]) for message in body["messages"]]
        question = texts[-1].removeprefix("Keep: ")
        if question == QUESTION:
            return FOUND if knows(body) else LOST
        if question in answers:
            return answers[question]
        # The request isn't a chat turn: a selection or a summary.
        if "positions" in question:
            return json.dumps({"relevant": _food_turns(question)})
        shown = "\n".join(texts)
        return "\n".join(note for word, note in NOTES.items() if word in shown)

    return answer


def knows(body: Mapping[str, Any]) -> bool:
    """Whether a request contains the fact of the early turn."""
    return any(GATE in str(message["content"]) for message in body["messages"])


def _food_turns(question: str) -> list[int]:
    """The positions of the turns that are about what can be eaten."""
    turns = re.split(r"^\[(\d+)\]", question, flags=re.MULTILINE)
    numbered = zip(turns[1::2], turns[2::2], strict=True)
    return [
        int(number) for number, turn in numbered if "nuts" in turn or "pancakes" in turn.lower()
    ]
