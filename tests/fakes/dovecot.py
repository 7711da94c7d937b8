"""A real IMAP server (Debian's dovecot-imapd) in a folder of its own, for tests."""

from __future__ import annotations

import getpass
import imaplib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

import psutil

from tests.running import free_port

PROGRAM = "/usr/sbin/dovecot"
USER, PASSWORD = "agent", "harbour-imap-1815"
SECONDS = 20.0
# Its processes don't run as root, and mail is never root's.
MAIL_USER = "mail"

CONFIG = """
protocols = imap
base_dir = {folder}/run
state_dir = {folder}/run
log_path = {folder}/log
ssl = no
disable_plaintext_auth = no
listen = 127.0.0.1
mail_location = maildir:{folder}/mail
{users}
first_valid_uid = 1
mail_max_userip_connections = 100
# A wrong password is answered at once.
auth_failure_delay = 0
passdb {{
  driver = passwd-file
  args = {folder}/passwords
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/home
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
}}
{more}
"""
WITHOUT_IDLE = "imap_capability = IMAP4rev1 UIDPLUS"


class Dovecot:
    """`with Dovecot() as server:` runs until the block ends; mails stay over `stop` and `start`."""

    def __init__(self, *, idle: bool = True) -> None:
        self.port = free_port()
        self.idle = idle
        self.url = f"imap://{USER}@127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Dovecot:
        # Short, for its sockets' paths, and open for the user that mail belongs to.
        self.folder = Path(tempfile.mkdtemp(prefix="imap-", dir="/tmp"))
        self.folder.chmod(0o755)
        user = pwd.getpwnam(MAIL_USER) if os.getuid() == 0 else pwd.getpwuid(os.getuid())
        self._owner = (user.pw_uid, user.pw_gid)
        for name in ("mail", "mail/new", "mail/cur", "mail/tmp", "home"):
            (self.folder / name).mkdir()
            os.chown(self.folder / name, *self._owner)
        self.set_password(PASSWORD)
        self._configure(user)
        self.start()
        return self

    def _configure(self, user: pwd.struct_passwd) -> None:
        users = ""
        if os.getuid() != 0:
            name = getpass.getuser()
            users = f"default_internal_user = {name}\ndefault_login_user = {name}\n"
            users += f"default_internal_group = {os.getgid()}"
        (self.folder / "conf").write_text(
            CONFIG.format(
                folder=self.folder,
                port=self.port,
                uid=user.pw_uid,
                gid=user.pw_gid,
                users=users,
                more="" if self.idle else WITHOUT_IDLE,
            )
        )

    def set_password(self, password: str) -> None:
        self._password = password
        path = self.folder / "passwords"
        path.write_text(f"{USER}:{{PLAIN}}{password}\n")
        path.chmod(0o644)
        if self._process is not None:
            self._wait_for(password)

    def start(self) -> None:
        with (self.folder / "errors").open("ab") as errors:
            self._process = subprocess.Popen(
                [PROGRAM, "-F", "-c", str(self.folder / "conf")],
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        self._wait_for(self._password)

    def _wait_for(self, password: str) -> None:
        """Until it lets somebody in with this password: it reads the file once a second."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            assert self._process is not None and self._process.poll() is None, self.log
            try:
                with self.connected(password):
                    return
            except (OSError, imaplib.IMAP4.error):
                time.sleep(0.05)
        raise AssertionError(f"dovecot isn't up:\n{self.log}")

    def stop(self) -> None:
        """Connections end with it: a process that serves one may outlive the server."""
        assert self._process is not None
        serving = psutil.Process(self._process.pid).children(recursive=True)
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(SECONDS)
        for process in serving:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder)

    @property
    def log(self) -> str:
        return "".join(
            path.read_text(errors="replace")
            for name in ("log", "errors")
            if (path := self.folder / name).exists()
        )

    def deliver(self, mail: bytes) -> None:
        """As a mail server does: the mail appears whole."""
        name = f"{time.time():.6f}.{uuid.uuid4().hex}.test"
        coming = self.folder / "mail" / "tmp" / name
        coming.write_bytes(mail)
        os.chown(coming, *self._owner)
        coming.rename(self.folder / "mail" / "new" / name)

    @contextmanager
    def connected(self, password: str = "") -> Iterator[imaplib.IMAP4]:
        client = imaplib.IMAP4("127.0.0.1", self.port, timeout=SECONDS)
        try:
            client.login(USER, password or self._password)
            client.select("INBOX")
            yield client
        finally:
            client.shutdown()

    def numbers(self, criterion: str = "ALL") -> list[int]:
        """The numbers (UIDs) of the mails for which it holds: SEEN, for example."""
        with self.connected() as client:
            _, found = client.uid("SEARCH", criterion)
        return [int(number) for number in (found[0] or b"").split()]

    def renumber(self) -> None:
        """A new UIDVALIDITY, as after a mailbox was restored from a backup."""
        self.stop()
        for name in (
            "dovecot-uidlist",
            "dovecot.index",
            "dovecot.index.log",
            "dovecot.index.cache",
        ):
            (self.folder / "mail" / name).unlink(missing_ok=True)
        time.sleep(1.1)  # it is made of the seconds of the clock
        self.start()
