"""Starts a Talk-shaped server with a room, a mailbox on a real IMAP server, and Chatsite."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from tests.demo.mailbox_page import MailboxPage
from tests.fakes.dovecot import PROGRAM, Dovecot
from tests.fakes.mailing import mail_environment, verify
from tests.fakes.smtp_sink import SmtpSink
from tests.fakes.talk_server import BOT, PASSWORD, FakeTalk
from tests.running import Server, free_port

ROOM = "harbour1"
ADA, ADAS_PASSWORD = "ada", "quay-and-crane-1815"
HAS_DOVECOT = Path(PROGRAM).exists()


class Demo:
    """`with Demo(folder) as demo:` runs all of it until the block ends; without dovecot there is no
    `mail`. What an earlier demo left in the folder is removed."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        *,
        port: int = 0,
        talk_port: int = 0,
        mail_port: int = 0,
        has_mail: bool = HAS_DOVECOT,
    ) -> None:
        self.folder = folder
        self.ports = port, talk_port, mail_port or free_port()
        self.environment = environment
        self.has_mail = has_mail
        self.mail: MailboxPage | None = None
        self._running = ExitStack()

    def __enter__(self) -> Self:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        port, talk_port, mail_port = self.ports
        with ExitStack() as running:
            self.talk = FakeTalk(port=talk_port)
            self.talk.add_room(ROOM, ADA, "grace", name="Harbour works", bot=BOT)
            running.enter_context(self.talk)
            environment: dict[str, Any] = {**self._rooms(), **self.environment}
            if self.has_mail:
                mailbox = running.enter_context(Dovecot())
                sink = running.enter_context(SmtpSink())
                environment = mail_environment(mailbox, sink, **environment)
                self.mail = running.enter_context(MailboxPage(mailbox, sink, port=mail_port))
            self.server = Server(self.folder, flags=(), **environment)
            if port:
                self._serve_on(port)
            self.server.environment = {
                **self.server.environment,
                "SITE_URL": self.server.url,
            }
            running.enter_context(self.server)
            self.server.add_user(ADA, ADAS_PASSWORD)
            if self.mail is not None:
                verify(self.server, ADA)
            self._running = running.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._running.close()

    def _rooms(self) -> dict[str, str]:
        """Grace and Ada speak in the room; Ada reads it in the page."""
        room = {
            "name": "Harbour works",
            "agent": "demo",
            "answers": "always",
            "readers": [ADA],
            "chatSettings": {"historyPolicy": "lastN", "historyLength": 3},
        }
        file = self.folder / "talk.json"
        file.write_text(
            json.dumps(
                {
                    "server": self.talk.url,
                    "user": BOT,
                    "password": "${TALK_PASSWORD}",
                    "rooms": {ROOM: room},
                }
            )
        )
        return {"TALK_FILE": str(file), "TALK_PASSWORD": PASSWORD}

    def _serve_on(self, port: int) -> None:
        self.server.port, self.server.url = port, f"http://127.0.0.1:{port}"
        self.server.environment = {**self.server.environment, "PORT": str(port)}
