"""The types of an ASGI application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Scope = dict[str, Any]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
