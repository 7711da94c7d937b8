"""Servers that models are reached at: which dialect each speaks, where, and with which key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal
from urllib.parse import urlsplit

Dialect = Literal["openai", "anthropic"]
Bound = Literal["max_tokens", "max_completion_tokens"]
DIALECTS: tuple[Dialect, ...] = ("openai", "anthropic")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """`name` is what stands after `llm.` in a template, and before the colon of `provider:model`.

    `key` names the environment variable that holds its key, never the key itself; "" where it
    wants none. `small_model` is for short side tasks, "" where the agent's own does them. `bound`
    is its name for the longest reply. `files`: it keeps files that it was given once.
    """

    name: str
    label: str
    dialect: Dialect
    base_url: str
    key: str = ""
    default_model: str = ""
    small_model: str = ""
    bound: Bound = "max_tokens"
    files: bool = False

    @property
    def address(self) -> str:
        """The environment variable that gives it another base URL."""
        return f"{self.name.upper().replace('-', '_')}_BASE_URL"

    @property
    def local(self) -> bool:
        """Whether it runs on this machine."""
        return urlsplit(self.base_url).hostname in LOOPBACK


def _found(name: str, label: str, port: int) -> Server:
    """A model server that people start on their own machine; its models are asked for there."""
    return Server(name=name, label=label, dialect="openai", base_url=f"http://127.0.0.1:{port}/v1")


# Default models as the providers recommend them, November 2026. OpenAI ends gpt-4o-mini and
# gpt-4.1-mini on 2027-01-14 and names gpt-6-luna in their place:
# https://developers.openai.com/api/docs/deprecations
_ALL = (
    Server(
        name="openai",
        label="OpenAI",
        dialect="openai",
        base_url="https://api.openai.com/v1",
        key="OPENAI_API_KEY",
        default_model="gpt-6-luna",
        small_model="gpt-6-luna",
        bound="max_completion_tokens",
        files=True,
    ),
    Server(
        name="anthropic",
        label="Anthropic",
        dialect="anthropic",
        base_url="https://api.anthropic.com",
        key="ANTHROPIC_API_KEY",
        default_model="claude-sonnet-5-5",
        small_model="claude-haiku-5-5",
        files=True,
    ),
    # https://ai.google.dev/gemini-api/docs/openai
    Server(
        name="gemini",
        label="Gemini",
        dialect="openai",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key="GEMINI_API_KEY",
        default_model="gemini-3.8-flash",
    ),
    # https://console.groq.com/docs/models
    Server(
        name="groq",
        label="Groq",
        dialect="openai",
        base_url="https://api.groq.com/openai/v1",
        key="GROQ_API_KEY",
        default_model="openai/gpt-oss-120b",
        small_model="openai/gpt-oss-20b",
        bound="max_completion_tokens",
    ),
    # https://api-docs.deepseek.com/quick_start/pricing
    Server(
        name="deepseek",
        label="DeepSeek",
        dialect="openai",
        base_url="https://api.deepseek.com",
        key="DEEPSEEK_API_KEY",
        default_model="deepseek-flash",
    ),
    # https://inference-docs.cerebras.ai/models/overview
    Server(
        name="cerebras",
        label="Cerebras",
        dialect="openai",
        base_url="https://api.cerebras.ai/v1",
        key="CEREBRAS_API_KEY",
        default_model="gpt-oss-120b",
        bound="max_completion_tokens",
    ),
    Server(
        name="openrouter",
        label="OpenRouter",
        dialect="openai",
        base_url="https://openrouter.ai/api/v1",
        key="OPENROUTER_API_KEY",
        default_model="openrouter/auto",
    ),
    _found("ollama", "Ollama", 11434),
    _found("lmstudio", "LM Studio", 1234),
    _found("llama-server", "llama-server", 8080),
)
SERVERS: Mapping[str, Server] = MappingProxyType({server.name: server for server in _ALL})
# What is looked for on this machine; its models have to be asked for.
LOCAL = tuple(server.name for server in _ALL if server.local)
