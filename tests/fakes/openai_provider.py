"""The OpenAI dialect's provider against a fake server, as the running site makes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chatsite.providers.known.models import ModelTable
from chatsite.providers.known.servers import SERVERS, server_at
from chatsite.providers.openai.provider import OpenAIProvider


def provider_at(
    base_url: str | None, *, api_key: str | None = "sk-test", server: str = "openai", **more: Any
) -> OpenAIProvider:
    """`server` is one of the table, moved to `base_url`; None leaves its address. Its default model
    is a plain one, whatever the provider recommends at the time."""
    known = replace(SERVERS[server], default_model="gpt-4o-mini")
    moved = server_at(known, base_url) if base_url else known
    return OpenAIProvider(**{"server": moved, "api_key": api_key, "table": ModelTable(), **more})
