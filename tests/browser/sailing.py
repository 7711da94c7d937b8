"""Sixty turns without sixty clicks, and a provider that knows only what it was sent."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from tests.browser.chat import Chat
from tests.browser.voyage import FOUND, GATE, LOST, QUESTION, TITLE, voyage
from tests.fakes.openai_server import FakeOpenAI
from tests.running import ROOT, Server


def sailed(
    chat: Chat, server: Server, fake: FakeOpenAI, *, agent: str = "demo", query: str = ""
) -> str:
    """The voyage as a conversation of this guest, made under the settings of `query`; its id.

    The page must have been open once, so that the guest is known.
    """
    fake.script.append(answering())
    cookies = {one["name"]: one["value"] for one in chat.page.context.cookies()}
    asked = {"session": cookies["sessionid"], "agent": agent, "query": query}
    done = subprocess.run(
        [sys.executable, "-m", "tests.browser.living", json.dumps(asked)],
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


def answering() -> Callable[[Mapping[str, Any]], str]:
    """What the provider answers: to the last question only what the request lets it know."""
    answers = {said.question: said.answer for said in voyage()}

    def answer(body: Mapping[str, Any]) -> str:
        question = str(body["messages"][-1]["content"])
        if question == QUESTION:
            return FOUND if knows(body) else LOST
        return answers[question]

    return answer


def knows(body: Mapping[str, Any]) -> bool:
    """Whether a request holds the fact of the early turn."""
    return any(GATE in str(message["content"]) for message in body["messages"])
