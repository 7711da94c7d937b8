"""All that runs: three servers on a PostgreSQL behind nginx, a provider, a Talk and a mailbox."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.fakes.dovecot import Dovecot
from tests.fakes.mailing import mail_environment
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.smtp_sink import SmtpSink
from tests.fakes.talk_server import BOT, PASSWORD, FakeTalk
from tests.nginx import Nginx
from tests.postgres import Postgres
from tests.running import ROOT, Server

KEY = "sk-canary-7f3a"
SECRET = "a key for tests alone: nothing that is signed with it leaves them"
ROOM = "harbour1"
# Of the room.
PEOPLE = [f"ada{number}" for number in range(100)]
SERVERS = 3
SENDER = "ada@example.org"
# What was committed survives a crash, as where people use it.
DURABLE = "-c fsync=on -c full_page_writes=on -c synchronous_commit=on -c max_connections=200"


@dataclass(frozen=True)
class Site:
    postgres: Postgres
    provider: FakeOpenAI
    talk: FakeTalk
    mailbox: Dovecot
    sink: SmtpSink
    servers: Sequence[Server]
    proxy: Nginx

    @property
    def addresses(self) -> list[str]:
        """The proxy's, then those of the servers."""
        return [self.proxy.url, *(server.url for server in self.servers)]

    def rows(self, sql: str) -> list[dict[str, Any]]:
        with psycopg.connect(self.postgres.url, row_factory=dict_row) as connection:
            return connection.execute(sql).fetchall()


@contextmanager
def running_site(folder: Path, *, root: Path = ROOT) -> Iterator[Site]:
    """Everything runs until the block ends; `root` is the checkout of the servers."""
    with ExitStack() as stack:
        enter = stack.enter_context
        postgres = enter(Postgres(options=DURABLE))
        provider, talk = enter(FakeOpenAI()), enter(FakeTalk())
        mailbox, sink = enter(Dovecot()), enter(SmtpSink())
        talk.add_room(ROOM, *PEOPLE, bot=BOT, name="Harbour")
        environment = _environment(folder, postgres, provider, talk)
        environment |= mail_environment(mailbox, sink, MAIL_THREAD_HOURLY="1000")
        servers = [Server(folder / str(n), root=root, **environment) for n in range(SERVERS)]
        servers[0].manage("migrate", "--verbosity=0")
        _add_sender(postgres)
        for server in servers:
            stack.callback(_end, server.start())
        proxy = enter(Nginx([server.url for server in servers]))
        yield Site(postgres, provider, talk, mailbox, sink, servers, proxy)


def _environment(
    folder: Path, postgres: Postgres, provider: FakeOpenAI, talk: FakeTalk
) -> dict[str, Any]:
    rooms = {ROOM: {"name": "Harbour", "agent": "demo"}}
    document = {"server": talk.url, "user": BOT, "password": "${TALK_PASSWORD}", "rooms": rooms}
    file = folder / "talk.json"
    file.write_text(json.dumps(document))
    return {
        "DATABASE_URL": postgres.url,
        "SECRET_KEY": SECRET,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": provider.base_url,
        "FILES_DIR": str(folder / "files"),
        "TALK_FILE": str(file),
        "TALK_PASSWORD": PASSWORD,
    }


def _add_sender(postgres: Postgres) -> None:
    """An account nobody can sign in to, with a verified address."""
    postgres.psql(
        "INSERT INTO auth_user (username, password, is_superuser, is_staff, is_active, email, "
        "first_name, last_name, date_joined) "
        "VALUES ('ada', '!', false, false, true, '', '', '', now());"
        "INSERT INTO conversations_mailaddress (user_id, address, created, verified) "
        f"SELECT id, '{SENDER}', now(), now() FROM auth_user"
    )


def _end(server: Server) -> None:
    if server.process is not None and server.process.poll() is None:
        server.kill()
