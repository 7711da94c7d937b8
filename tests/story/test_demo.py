"""The demonstration of `make channels-demo`: a room and a mailbox are answered."""

from __future__ import annotations

import time
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

from tests.demo.demo import ROOM, Demo
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.smtp_sink import text_of
from tests.story.conftest import provider_environment


def post(url: str, **fields: str) -> None:
    """As the form of a page does."""
    with urllib.request.urlopen(url, data=urlencode(fields).encode(), timeout=20) as answer:
        assert answer.status == 200


def page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return str(answer.read().decode())


def test_the_room_and_the_mailbox_are_answered_and_shown(tmp_path: Path) -> None:
    with FakeOpenAI() as fake, Demo(tmp_path / "demo", provider_environment(fake)) as demo:
        assert demo.mail is not None, "dovecot isn't installed"
        fake.script.append("It is 120 metres long.")
        post(f"{demo.talk.url}/{ROOM}", who="grace", text="How long is the quay?")
        deadline = time.monotonic() + 30
        while "120 metres" not in page(f"{demo.talk.url}/{ROOM}"):
            assert time.monotonic() < deadline, demo.server.log
            time.sleep(0.1)
        fake.script.append("It is free on Wednesday.")
        post(demo.mail.url, subject="The crane", text="When is the crane free?")
        (mail,) = demo.mail.sink.wait(1)
        assert "It is free on Wednesday." in text_of(mail)
        shown = page(demo.mail.url)
        assert "When is the crane free?" in shown and "It is free on Wednesday." in shown
