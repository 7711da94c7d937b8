"""The mailbox over IMAP: what is new, and waiting for more. It never deletes a mail."""

from __future__ import annotations

import contextlib
import imaplib
import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from imap_tools import BaseMailBox, ImapToolsError, MailBox, MailBoxUnencrypted
from imap_tools.errors import MailboxFolderSelectError, MailboxLoginError

from chatsite.channels.channel import Trouble
from chatsite.mail.account import MailAccount

SECONDS = 30.0
# Below the 29 minutes after which a server may cut the connection; a lost one is noticed then.
IDLE_SECONDS = 540.0
# Where the server can't tell by itself.
POLL_SECONDS = 120.0
PASSWORD_SECONDS = 300.0
# In a mailbox that is read for the first time older mails are nobody's questions any more.
FIRST_DAYS = 3
LONGEST_HEADERS = 1024 * 1024
_SIZE = re.compile(rb"UID (\d+).*?RFC822\.SIZE (\d+)|RFC822\.SIZE (\d+).*?UID (\d+)", re.DOTALL)


class OpenMailbox:
    """A connection. Every method blocks: it has a thread of its own. Raises Trouble."""

    def __init__(self, account: MailAccount) -> None:
        self._account = account
        self._box: BaseMailBox | None = None

    def open(self) -> None:
        server = self._account.imap
        with self._trouble():
            if server.security == "tls":
                self._box = MailBox(server.host, server.port, timeout=SECONDS)
            else:
                self._box = MailBoxUnencrypted(server.host, server.port, timeout=SECONDS)
            self._box.login(server.user, server.password, self._account.folder)
            self._has_been_told()  # how many are there already

    @property
    def box(self) -> BaseMailBox:
        if self._box is None:
            raise Trouble("the mailbox is closed")
        return self._box

    @property
    def tells(self) -> bool:
        """Tells whether the server says by itself what is new (IDLE)."""
        return "IDLE" in self.box.client.capabilities

    def validity(self) -> int:
        with self._trouble():
            return int(self.box.client.response("UIDVALIDITY")[1][0] or 0)

    def new(self, last: int | None) -> dict[int, int]:
        """Lists the mails behind the number `last`, in order: their sizes in bytes by their
        numbers. Without `last` these are the mails of the last days that nobody has seen."""
        since = (datetime.now(UTC) - timedelta(days=FIRST_DAYS)).strftime("%d-%b-%Y")
        first = 1 if last is None else last + 1
        wanted = f"UNSEEN SINCE {since}" if last is None else f"UID {first}:*"
        sizes: dict[int, int] = {}
        with self._trouble():
            self._has_been_told()
            _, found = self.box.client.uid("SEARCH", wanted)
            # A range ends with the newest mail, also where that is before its beginning.
            numbers = [n for n in map(int, (found[0] or b"").split()) if n >= first]
            # A command has a bound on its length.
            for start in range(0, len(numbers), 200):
                some = ",".join(map(str, numbers[start : start + 200]))
                _, lines = self.box.client.uid("FETCH", some, "(RFC822.SIZE)")
                for line in lines:
                    one = _SIZE.search(line if isinstance(line, bytes) else b"".join(line or ()))
                    if one:
                        sizes[int(one[1] or one[4])] = int(one[2] or one[3])
        return {number: sizes[number] for number in sorted(numbers) if number in sizes}

    def fetch_head(self, number: int) -> bytes | None:
        """Fetches the headers; None if somebody has moved or deleted the mail meanwhile."""
        return self._part_of(number, f"BODY.PEEK[HEADER]<0.{LONGEST_HEADERS}>")

    def fetch(self, number: int) -> bytes | None:
        """Fetches all bytes of a mail; None as for `fetch_head`."""
        return self._part_of(number, "BODY.PEEK[]")

    def _part_of(self, number: int, part: str) -> bytes | None:
        with self._trouble():
            _, lines = self.box.client.uid("FETCH", str(number), f"({part})")
        return next((one[1] for one in lines if isinstance(one, tuple)), None)

    def mark_seen(self, number: int) -> None:
        with self._trouble():
            self.box.client.uid("STORE", str(number), "+FLAGS.SILENT", r"(\Seen)")

    def wait(self, seconds: float) -> None:
        """Waits until the server says that something is new, or for so long."""
        with self._trouble():
            if self._has_been_told():
                return
            with self.box.idle as idle:
                lines = self._read_at_once() or idle.poll(timeout=seconds)
            if any(line.upper().startswith(b"* BYE") for line in lines):
                raise Trouble("the mailbox was closed by its server")
            self.box.client.noop()

    def _has_been_told(self) -> bool:
        """Tells whether the server said since the last time that there are more mails. It says so
        with the answer to any command, and then not again while it is waited for."""
        return self.box.client.response("EXISTS")[1] != [None]

    def _read_at_once(self) -> list[bytes]:
        """Reads what came together with the beginning of the waiting: it lies in the reader's
        buffer, where polling the socket doesn't see it."""
        client = self.box.client
        client.sock.settimeout(0)
        try:
            return [client._get_line()]
        except (OSError, imaplib.IMAP4.abort):
            return []
        finally:
            client.sock.settimeout(SECONDS)

    def ask(self) -> None:
        """Makes the next search see what is new, for a server that doesn't tell."""
        with self._trouble():
            self.box.client.noop()

    def interrupt(self) -> None:
        """Ends what blocks; any thread may call this."""
        if self._box is not None:
            with contextlib.suppress(OSError):
                self._box.client.sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        box, self._box = self._box, None
        if box is not None:
            with contextlib.suppress(OSError):
                box.client.shutdown()

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """Raises Trouble without the server's own text, which may repeat what was sent."""
        server = self._account.imap
        where = f"the mailbox at {server.host}:{server.port}"
        try:
            yield
        except MailboxLoginError:
            raise Trouble(
                f"{where} refuses the password of {server.user}", seconds=PASSWORD_SECONDS
            ) from None
        except MailboxFolderSelectError:
            raise Trouble(
                f"{where} has no folder {self._account.folder!r}", seconds=PASSWORD_SECONDS
            ) from None
        except ssl.SSLError:
            raise Trouble(
                f"{where} can't be reached over TLS: its certificate isn't one for this name, or "
                "it speaks no TLS there"
            ) from None
        except (imaplib.IMAP4.error, ImapToolsError, OSError, ValueError, AttributeError) as error:
            raise Trouble(f"{where} can't be reached ({type(error).__name__})") from None
