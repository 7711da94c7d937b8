"""The rows of the servers that use this database. What a server writes carries its id, so that
others can tell a running answer from one that a killed server left."""

from __future__ import annotations

import uuid

from django.utils import timezone

from chatsite.conversations.models import Server, Turn
from chatsite.storage import reading, writing

# ---- on PostgreSQL, over a connection that a server keeps for itself ---------------------------
# Locks of two numbers: this one for servers, and a digest of the server's id.
_SERVERS = 7_302_001
LOCK = f"SELECT pg_advisory_lock({_SERVERS}, hashtext(%s))"
# Of the one server that does what is done once: Talk, mail, and keeping storage in order.
LEAD = f"SELECT pg_try_advisory_lock({_SERVERS + 1}, 0)"
RESIGN = f"SELECT pg_advisory_unlock({_SERVERS + 1}, 0)"
_HOLDER = (
    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    f"AND classid = {_SERVERS} AND objid::bigint = hashtext({{id}})::bigint & 4294967295"
)
OTHERS = (
    "SELECT id::text, address, seen, EXISTS (" + _HOLDER.format(id="server.id::text") + ") "
    "FROM conversations_server server WHERE id <> %s"
)
ENTER = (
    "INSERT INTO conversations_server (id, name, address, started, seen) "
    "VALUES (%s, %s, %s, now(), now()) ON CONFLICT (id) DO NOTHING"
)
LIVE = "UPDATE conversations_server SET seen = clock_timestamp() WHERE id = %s"
# A server that is only slow sees that its row is gone and takes another number; its connections are
# closed, so that it holds no lock that somebody else waits for: a turn's, where it hangs in one.
BURY = "DELETE FROM conversations_server WHERE id = %s AND seen = %s RETURNING name"
END_CONNECTIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE application_name = %s AND datname = current_database()"
)
END_CONNECTION = f"SELECT pg_terminate_backend(pid) FROM ({_HOLDER.format(id='%s')}) AS held"


@writing
def enter_alone(*, id: str, name: str) -> None:
    """This server is the only one, as SQLite's always is: those of before are dead."""
    Server.objects.all().delete()
    now = timezone.now()
    Server.objects.create(id=uuid.UUID(id), name=name, started=now, seen=now)


@writing
def leave(*, id: str) -> None:
    Server.objects.filter(id=uuid.UUID(id)).delete()


@reading
def orphans() -> bool:
    """Whether there are answers that no server writes any more."""
    alive = Server.objects.values("id")
    return Turn.objects.filter(state="running").exclude(server__in=alive).exists()
