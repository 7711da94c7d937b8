"""Which database the conversations are in: SQLite's file, or PostgreSQL, which several servers
share."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ

from chatsite.environment import BASE_DIR, folder, text
from chatsite.errors import BadSetting

# Of one server: its writing and reading threads, with some left for pages. Five servers are within
# the 100 connections that PostgreSQL allows by default.
POOL = {"min_size": 2, "max_size": 16, "timeout": 10.0}
# Of this process. PostgreSQL shows it for each connection, and keeps 63 characters: when the server
# hangs, others end those that it left in a transaction.
SERVER_NAME = f"{socket.gethostname()[:30]} {secrets.token_hex(8)} ({os.getpid()})"
_FORM = "It is postgres://user:password@host:5432/name"


def _database_url(name: str) -> dict[str, Any]:
    """PostgreSQL as the variable names it. No message repeats the value: it holds a password."""
    url = text(name)
    try:
        parts = urlsplit(url)
        found = environ.Env.db_url_config(url)
        usable = parts.scheme in ("postgres", "postgresql") and bool(found["NAME"])
    except (ValueError, environ.ImproperlyConfigured):
        usable = False
    if not usable:
        raise BadSetting(f"{name} is not allowed as it is. {_FORM}")
    if not (find_spec("psycopg") and find_spec("psycopg_pool")):
        raise BadSetting(
            f"{name} needs the package psycopg, and it isn't there. Install it: "
            "sh scripts/install.sh cluster"
        )
    return dict(found)


def _sqlite(file: Path) -> dict[str, Any]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": file,
        # One writer at a time, readers never wait: without IMMEDIATE a transaction that reads
        # before it writes fails with "database is locked" at once, whatever the timeout is.
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            # What is deleted is overwritten, as Debian's SQLite does by itself.
            # The server empties the write-ahead log every few seconds, so that no turn has to;
            # 40 MB at most.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
            "PRAGMA wal_autocheckpoint=10000; PRAGMA secure_delete=ON;",
        },
        # A file needs no pool, and opening it again for every unit of work doubles its cost.
        "CONN_MAX_AGE": None,
        "TEST": {"NAME": file.parent / "test.sqlite3"},
    }


def _postgresql(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **found,
        # A thread gives its connection back with each unit of work; one that broke meanwhile, as
        # when PostgreSQL was restarted, isn't given out again.
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        # A pooler may read a cursor over another connection than the one that has it.
        "DISABLE_SERVER_SIDE_CURSORS": bool(text("DATABASE_DIRECT_URL")),
        "OPTIONS": {
            "connect_timeout": 5,
            **found.get("OPTIONS", {}),
            "application_name": SERVER_NAME,
            "pool": POOL,
        },
    }


def _direct(found: Mapping[str, Any]) -> dict[str, Any]:
    """What psycopg is given for a connection that a server keeps for itself: one that is cut is
    noticed within some 10 seconds."""
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host"}
    given = {short: found[name] for name, short in names.items() if found[name]}
    alive = {"keepalives_idle": 4, "keepalives_interval": 2, "keepalives_count": 3}
    given |= {"port": found["PORT"]} if found["PORT"] else {}
    return {"connect_timeout": 5, "tcp_user_timeout": 10_000, **alive, **given} | dict(
        found.get("OPTIONS", {})
    )


ON_POSTGRESQL = bool(text("DATABASE_URL"))
if ON_POSTGRESQL:
    _found = _database_url("DATABASE_URL")
    DATABASES = {"default": _postgresql(_found)}
    # Locks and notes need a connection that stays the same: a pooler that changes it with every
    # transaction is passed by.
    _own = _database_url("DATABASE_DIRECT_URL") if text("DATABASE_DIRECT_URL") else _found
    DIRECT_CONNECTION = _direct(_own)
else:
    DATABASES = {"default": _sqlite(folder("VAR_DIR", BASE_DIR / "var") / "chatsite.sqlite3")}
    DIRECT_CONNECTION = {}
