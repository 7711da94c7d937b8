"""Anthropic's provider against a fake server, as the running site makes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chatsite.providers.anthropic.provider import AnthropicProvider
from chatsite.providers.known.models import ModelTable
from chatsite.providers.known.servers import SERVERS


def provider_at(
    base_url: str, *, api_key: str | None = "sk-ant-test", files: bool = False, **more: Any
) -> AnthropicProvider:
    """`files`: the server stores uploaded files, as Anthropic's own does."""
    server = replace(SERVERS["anthropic"], base_url=base_url, files=files)
    known = {"server": server, "api_key": api_key, "table": ModelTable()}
    return AnthropicProvider(**(known | more))
