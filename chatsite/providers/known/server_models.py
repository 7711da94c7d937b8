"""What a server reports of its models: their names, their real windows, their abilities.

Every server lists its models at `/models`; some add the window there (vLLM `max_model_len`,
OpenRouter `context_length`, Groq `context_window`, which is asked only at another address than
Groq's own). Others have an address of their own for it: Ollama `/api/ps` and `/api/show`, LM
Studio `/api/v0/models`, llama-server `/props`. Unreadable answers are left out; nothing raises.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import aiohttp

from chatsite.providers.base.provider import Medium
from chatsite.providers.known.chat_models import is_chat_model
from chatsite.providers.known.models import ReportedModel
from chatsite.providers.known.servers import Server

# A server on this machine answers within milliseconds, and nobody waits for these answers.
SECONDS = 2.0
# OpenRouter's list of all models is about 1 MB.
MOST_BYTES = 8 * 1024 * 1024


class JsonClient:
    """One pool of connections for all servers. Redirects aren't followed, so that a key is sent to
    the configured server only."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def ask(self, url: str, body: object = None, *, key: str = "") -> Any:
        """Return the JSON at this address, None where there is none. A `body` is posted."""
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=SECONDS)
            self._session = aiohttp.ClientSession(timeout=timeout, trust_env=False)
        method = "GET" if body is None else "POST"
        headers = {"authorization": f"Bearer {key}"} if key else {}
        try:
            async with self._session.request(
                method, url, json=body, headers=headers, allow_redirects=False
            ) as answer:
                if answer.status != 200:
                    return None
                data = await answer.content.read(MOST_BYTES)
                while not answer.content.at_eof() and len(data) < MOST_BYTES:
                    data += await answer.content.read(MOST_BYTES - len(data))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return None
        return await asyncio.to_thread(_json, data)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


_WINDOW_KEYS = ("max_model_len", "context_length", "context_window", "max_context_length")
# Ollama's default, on a machine with less than 24 GB for it:
# https://docs.ollama.com/context-length
OLLAMA_LEAST = 4_096
# Further models are listed without their details.
_MOST_SHOWN = 40
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)
_IMAGE: frozenset[Medium] = frozenset({"image"})
_NOTHING: frozenset[Medium] = frozenset()

# Ollama's details of models by their digest, so that each model is asked about once.
OllamaDetails = dict[str, Any]
# Asks the server for the JSON at a path.
Ask = Callable[..., Awaitable[Any]]
# Models by name, None for one that is no chat model; None for all where the server is of another
# kind.
Reported = Mapping[str, ReportedModel | None] | None


async def read_server_models(
    server: Server, questions: JsonClient, *, key: str, shown: OllamaDetails
) -> dict[str, ReportedModel] | None:
    """Return the server's chat models by name, None where nothing answers. `shown` lasts between
    calls."""
    listed = _listed(await questions.ask(f"{server.base_url}/models", key=key))
    if listed is None:
        return None
    found = {name: _plain(entry) for name, entry in listed.items() if is_chat_model(name, entry)}
    if not found or all(facts.window for facts in found.values()) or server.name == "openrouter":
        return found
    root = server.base_url.removesuffix("/v1")
    owners = {str(entry.get("owned_by")) for entry in listed.values()}

    async def ask(path: str, body: object = None) -> Any:
        return await questions.ask(f"{root}{path}", body, key=key)

    readers: dict[str, Callable[[], Awaitable[Reported]]] = {
        "lmstudio": partial(_read_lmstudio, ask),
        "ollama": partial(_read_ollama, ask, shown),
        "llama-server": partial(_read_llama_server, ask, found),
    }
    by_owner = {"library": "ollama", "llamacpp": "llama-server"}.get(next(iter(owners), ""), "")
    first = server.name if server.name in readers else by_owner
    for name in [first] if first else list(readers):
        more = await readers[name]()
        if more is not None:
            known = {name: more.get(name, facts) for name, facts in found.items()}
            return {name: facts for name, facts in known.items() if facts is not None}
    return found


def _listed(answer: Any) -> dict[str, dict[str, Any]] | None:
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list):
        return None
    entries = [entry for entry in data if isinstance(entry, dict)]
    named = ((entry.get("id"), entry) for entry in entries)
    # Only what can be used as a model's name in a command.
    return {
        name: entry
        for name, entry in named
        if isinstance(name, str) and 0 < len(name) <= 160 and name.isprintable()
    }


def _plain(entry: dict[str, Any]) -> ReportedModel:
    window = next((tokens for key in _WINDOW_KEYS if (tokens := _tokens(entry.get(key)))), None)
    architecture = entry.get("architecture")  # OpenRouter's
    takes = tools = None
    if isinstance(architecture, dict) and isinstance(architecture.get("input_modalities"), list):
        takes = _IMAGE if "image" in architecture["input_modalities"] else _NOTHING
    if isinstance(entry.get("supported_parameters"), list):
        tools = "tools" in entry["supported_parameters"]
    return ReportedModel(window=window, takes=takes, tools=tools)


async def _read_lmstudio(ask: Ask) -> Reported:
    listed = _listed(await ask("/api/v0/models"))
    if listed is None:
        return None
    found: dict[str, ReportedModel | None] = {}
    for name, entry in listed.items():
        if entry.get("type") == "embeddings":
            found[name] = None
            continue
        loaded = _tokens(entry.get("loaded_context_length"))
        # A model that isn't loaded yet gets its own default, which isn't reported.
        least = min(OLLAMA_LEAST, _tokens(entry.get("max_context_length")) or OLLAMA_LEAST)
        takes = _IMAGE if entry.get("type") == "vlm" else _NOTHING
        found[name] = ReportedModel(window=loaded, least=least, takes=takes)
    return found


async def _read_llama_server(ask: Ask, names: Iterable[str]) -> Reported:
    """The server has one model; its window is that of one of its slots."""
    props = await ask("/props")
    generation = props.get("default_generation_settings") if isinstance(props, dict) else None
    if not isinstance(generation, dict):
        return None
    sees = props.get("modalities") if isinstance(props.get("modalities"), dict) else {}
    takes = _IMAGE if sees.get("vision") is True else _NOTHING
    facts = ReportedModel(window=_tokens(generation.get("n_ctx")), takes=takes)
    return dict.fromkeys(names, facts)


async def _read_ollama(ask: Ask, shown: OllamaDetails) -> Reported:
    tags = await ask("/api/tags")
    if not isinstance(tags, dict) or not isinstance(tags.get("models"), list):
        return None
    digests = {
        str(entry.get("name")): str(entry.get("digest"))
        for entry in tags["models"][:_MOST_SHOWN]
        if isinstance(entry, dict)
    }

    async def show(name: str, digest: str) -> None:
        # Ollama may not answer in time while it loads a model: then ask again at the next look.
        if shown.get(digest) is None:
            shown[digest] = await ask("/api/show", {"model": name})

    await asyncio.gather(*(show(name, digest) for name, digest in digests.items()))
    loaded = _loaded(await ask("/api/ps"))
    return {name: _shown(shown.get(digest), loaded.get(name)) for name, digest in digests.items()}


def _loaded(answer: Any) -> dict[str, int]:
    """The windows of the models in memory."""
    models = answer.get("models") if isinstance(answer, dict) else None
    found = {}
    for entry in models if isinstance(models, list) else []:
        if isinstance(entry, dict) and (window := _tokens(entry.get("context_length"))):
            found[str(entry.get("name"))] = window
    return found


def _shown(answer: Any, loaded: int | None) -> ReportedModel | None:
    answer = answer if isinstance(answer, dict) else {}
    can = answer.get("capabilities")
    if isinstance(can, list) and can and "completion" not in can:
        return None  # an embedding model
    parameters = answer.get("parameters")
    num_ctx = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    facts = ReportedModel(
        window=loaded or (_tokens(int(num_ctx[1])) if num_ctx else None),
        least=min(OLLAMA_LEAST, _longest(answer) or OLLAMA_LEAST),
    )
    if not isinstance(can, list):
        return facts
    takes = _IMAGE if "vision" in can else _NOTHING
    return replace(facts, takes=takes, tools="tools" in can)


def _longest(answer: dict[str, Any]) -> int | None:
    """The window that the model was trained for."""
    info = answer.get("model_info")
    for name, value in info.items() if isinstance(info, dict) else []:
        if str(name).endswith(".context_length"):
            return _tokens(value)
    return None


def _tokens(value: Any) -> int | None:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 100_000_000
    return value if good else None
