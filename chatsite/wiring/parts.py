"""The parts that the settings describe, each built by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from django.conf import settings

from chatsite.accounts import shared_limits
from chatsite.conversations.search.text_search import search_messages
from chatsite.kv_cache import saved_sessions as session_rows
from chatsite.kv_cache.slots.sessions import Sessions
from chatsite.limits.limiter import Limiter
from chatsite.providers.embedded.engine import Engine
from chatsite.providers.http.streaming import Timeouts
from chatsite.providers.reachable import Providers
from chatsite.tools.calculator import Calculator
from chatsite.tools.clock import DEFAULT_ZONE, ClockTool
from chatsite.tools.mcp.connections import ToolServers
from chatsite.tools.search_history import SearchHistory
from chatsite.tools.tool import Tool, ToolError
from chatsite.tools.toolbox import Maker, Toolbox


def builtin(
    *, now: Callable[[], datetime], search_history: SearchHistory, recall: Tool
) -> Mapping[str, Maker]:
    """`now` gives an aware time. A template may set the clock's `zone`."""

    def clock(configuration: Mapping[str, object]) -> Tool:
        zone = configuration.get("zone", DEFAULT_ZONE)
        if not isinstance(zone, str):
            raise ToolError("zone must be the name of a time zone, such as Europe/Paris")
        return ClockTool(now=now, zone=zone)

    return {
        "calculator": lambda configuration: Calculator(),
        "clock": clock,
        "recall": lambda configuration: recall,
        "search_history": lambda configuration: search_history,
    }


def limiter() -> Limiter:
    """What people and addresses may ask for."""
    return Limiter(
        now=time.monotonic,
        people_per_address=settings.PEOPLE_PER_ADDRESS,
        factor=settings.LIMITS_FACTOR,
        shared=shared_limits.take if settings.ON_POSTGRESQL else None,
    )


def engine() -> Engine:
    """The model on this machine."""
    return Engine(
        settings.CHAT_MODEL_PATH or None,
        log_path=settings.VAR_DIR / "engine.log",
        sessions=settings.KV_SESSIONS_DIR if settings.KV_SESSIONS_MB else None,
    )


def saved_sessions() -> Sessions:
    """The saved states of the engine's cache. Where none are to be saved, the first sweep removes
    those that were saved before."""
    return Sessions(
        settings.KV_SESSIONS_DIR,
        limit=settings.KV_SESSIONS_MB * 1024 * 1024,
        rows=session_rows,
    )


def model_servers() -> Providers:
    """The model servers that the settings name, and those that are found on this machine."""
    return Providers(
        servers=settings.MODEL_SERVERS,
        ready=settings.MODEL_SERVERS_READY,
        keys=settings.API_KEYS,
        own=settings.MODELS.facts,
        timeouts=Timeouts(
            connect=settings.CONNECT_SECONDS,
            first_token=settings.FIRST_TOKEN_SECONDS,
            between_tokens=settings.BETWEEN_TOKENS_SECONDS,
        ),
        chat_model=settings.CHAT_MODEL,
        fast_model=settings.FAST_MODEL,
        look=settings.LOCAL_SERVERS,
    )


def toolbox(servers: ToolServers, recall: Tool) -> Toolbox:
    """Our own tools and those of the tool servers."""
    search_history = SearchHistory(search_messages)
    ours = builtin(now=lambda: datetime.now(UTC), search_history=search_history, recall=recall)
    return Toolbox(ours, servers)
