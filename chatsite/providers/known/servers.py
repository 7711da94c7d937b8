"""Servers that models are reached at: the dialect, the address and the key of each."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal
from urllib.parse import urlsplit

from chatsite.wording import later

Dialect = Literal["openai", "anthropic"]
Bound = Literal["max_tokens", "max_completion_tokens"]
DIALECTS: tuple[Dialect, ...] = ("openai", "anthropic")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Providers that aren't servers; no server can take their names.
BUILT_IN = ("embedded", "echo")
ADDRESS = "an address with http:// or https://, without a name, a password or a ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """`name` is used after `llm.` in a template, and before the colon of `provider:model`.

    `key` is the name of the environment variable with its key, never the key itself; "" where it
    needs none. `small_model` is for short side tasks, "" where the agent's own model does them.
    `bound` is the server's parameter for the longest reply. `files`: it stores uploaded files.
    `stated` names the fields that an administrator set: they hold for whatever address.
    """

    name: str
    label: str
    base_url: str
    dialect: Dialect = "openai"
    key: str = ""
    default_model: str = ""
    small_model: str = ""
    bound: Bound = "max_tokens"
    files: bool = False
    stated: frozenset[str] = frozenset()

    @property
    def address(self) -> str:
        """The environment variable that replaces its base URL."""
        return f"{self.name.upper().replace('-', '_')}_BASE_URL"

    @property
    def local(self) -> bool:
        """Whether it runs on this machine."""
        return urlsplit(self.base_url).hostname in LOOPBACK


def _local(name: str, label: str, port: int) -> Server:
    """A model server that people run on their own machine, which lists its models."""
    return Server(name=name, label=label, base_url=f"http://127.0.0.1:{port}/v1")


# Default models as the providers recommend them, November 2026. OpenAI ends gpt-4o-mini and
# gpt-4.1-mini on 2027-01-14 and names gpt-6-luna in their place:
# https://developers.openai.com/api/docs/deprecations
_ALL = (
    Server(
        name="openai",
        label="OpenAI",
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
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key="GEMINI_API_KEY",
        default_model="gemini-3.8-flash",
    ),
    # https://console.groq.com/docs/models
    Server(
        name="groq",
        label="Groq",
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
        base_url="https://api.deepseek.com",
        key="DEEPSEEK_API_KEY",
        default_model="deepseek-flash",
    ),
    # https://inference-docs.cerebras.ai/models/overview
    Server(
        name="cerebras",
        label="Cerebras",
        base_url="https://api.cerebras.ai/v1",
        key="CEREBRAS_API_KEY",
        default_model="gpt-oss-120b",
        bound="max_completion_tokens",
    ),
    Server(
        name="openrouter",
        label="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        key="OPENROUTER_API_KEY",
        default_model="openrouter/auto",
    ),
    _local("ollama", "Ollama", 11434),
    _local("lmstudio", "LM Studio", 1234),
    _local("llama-server", "llama-server", 8080),
)
SERVERS: Mapping[str, Server] = MappingProxyType({server.name: server for server in _ALL})
# Servers that are looked for on this machine.
LOCAL = tuple(server.name for server in _ALL if server.local)

COMPATIBLE = later("OpenAI-compatible server")


def server_at(server: Server, base_url: str) -> Server:
    """Return the server with another address: a proxy, or a compatible server. It keeps dialect and
    key.

    Any program may speak OpenAI's dialect, so `openai` gets another label; the address itself would
    tell strangers about the network. What only the original address offers (files, the small model,
    its name for the reply's bound) is dropped, unless an administrator stated it.
    """
    if base_url == server.base_url:
        return server
    label = COMPATIBLE if server.name == "openai" else server.label
    moved = replace(server, label=label, small_model="", bound="max_tokens", files=False)
    stated = {name: getattr(server, name) for name in server.stated}
    return replace(moved, **stated, base_url=base_url)


def is_address(value: object) -> bool:
    """Return whether requests can be sent there. An address that holds a key is refused: logs show
    it."""
    try:
        parts = urlsplit(value if isinstance(value, str) else "")
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
        plain = not (parts.username or parts.password or parts.query or parts.fragment)
    except ValueError:
        good = plain = False
    return good and plain


class Keys(UserDict[str, str]):
    """Keys by the name of their environment variable, without empty ones; `repr` has names only.

    It is no dict: Django's reports of errors would show the values of one.
    """

    def __init__(self, keys: Mapping[str, str]) -> None:
        super().__init__({name: key for name, key in keys.items() if key})

    def __repr__(self) -> str:
        return f"Keys({', '.join(self)})"
