"""The types of an ASGI application, its headers, and what stands in front of one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Scope = dict[str, Any]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Front:
    """Stands in front of an application: the classes of this one are called in its place."""

    def __init__(self, app: App) -> None:
        self._app = app


def header(scope: Mapping[str, Any], name: bytes) -> str:
    """Reads a header, which may be sent in several parts; "" stands for none."""
    values = (value for key, value in scope["headers"] if key == name)
    return b",".join(values).decode("latin-1")
