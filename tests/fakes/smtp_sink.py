"""An SMTP server that keeps what is sent, for tests (aiosmtpd on a real socket)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from email import message_from_bytes, policy
from email.message import EmailMessage
from types import TracebackType
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

from tests.running import free_port

USER, PASSWORD = "agent", "harbour-smtp-1852"
SECONDS = 30.0


class SmtpSink:
    """`with SmtpSink() as sink:`; `sink.mails` are those that were taken, as they came.

    `replies` are answered to the next mails instead of taking them ("451 Later"); "take 451 Lost"
    takes one and says that it wasn't. `signs_in` False: it offers no sign-in and asks for none, as
    a server that takes the mail of its own machine.
    """

    def __init__(self, *, signs_in: bool = True) -> None:
        self.signs_in = signs_in
        self.port = free_port()
        user = f"{USER}@" if signs_in else ""
        self.url = f"smtp://{user}127.0.0.1:{self.port}"
        self.password = PASSWORD
        self.raw: list[bytes] = []
        self.to: list[list[str]] = []
        self.replies: list[str] = []
        self._changed = threading.Condition()
        self._controller: Any = None

    def __enter__(self) -> SmtpSink:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        self._controller = Controller(
            self,
            hostname="127.0.0.1",
            port=self.port,
            authenticator=self._is_known,
            auth_require_tls=not self.signs_in,  # without TLS it isn't offered then
        )
        self._controller.start()

    def stop(self) -> None:
        self._controller.stop()

    def _is_known(
        self, server: Any, session: Any, envelope: Any, how: str, data: Any
    ) -> AuthResult:
        assert isinstance(data, LoginPassword)
        known = (data.login.decode(), data.password.decode()) == (USER, self.password)
        return AuthResult(success=known, handled=False)

    async def handle_MAIL(
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        if self.signs_in and not session.authenticated:
            return "530 Sign in first"
        envelope.mail_from = address
        return "250 Go on"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        reply = self.replies.pop(0) if self.replies else ""
        if not reply or reply.startswith("take "):
            with self._changed:
                self.raw.append(envelope.content)
                self.to.append(list(envelope.rcpt_tos))
                self._changed.notify_all()
        return reply.removeprefix("take ") or "250 Taken"

    @property
    def mails(self) -> list[EmailMessage]:
        return [message_from_bytes(data, policy=policy.default) for data in list(self.raw)]

    def wait(self, count: int, *, seconds: float = SECONDS) -> list[EmailMessage]:
        """The mails, once there are so many."""
        return self.wait_for(lambda: len(self.raw) >= count, seconds=seconds)

    def wait_for(
        self, condition: Callable[[], bool], *, seconds: float = SECONDS
    ) -> list[EmailMessage]:
        deadline = time.monotonic() + seconds
        with self._changed:
            while not condition():
                left = deadline - time.monotonic()
                assert left > 0, f"{len(self.raw)} mails: {self.raw[-1:]!r}"
                self._changed.wait(left)
        return self.mails

    def wait_to(self, address: str, count: int = 1) -> list[EmailMessage]:
        """The mails to one address, once there are so many."""

        def theirs() -> list[int]:
            return [at for at, to in enumerate(list(self.to)) if to == [address]]

        found = self.wait_for(lambda: len(theirs()) >= count)
        return [found[at] for at in theirs()]


def text_of(mail: EmailMessage) -> str:
    body = mail.get_body(("plain",))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")
