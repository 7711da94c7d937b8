"""MODELS_FILE: an administrator's own servers and models, checked strictly before anything starts.

Every message names the place in the file, what is wrong and what is allowed. What stands where the
name of a key belongs is never repeated: it may be the key itself. docs/models.md has the format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from chatsite.errors import BadSetting
from chatsite.providers.base.model import Price
from chatsite.providers.known.models import ModelFacts, known_facts
from chatsite.providers.known.servers import (
    ADDRESS,
    BUILT_IN,
    DIALECTS,
    SERVERS,
    Server,
    is_address,
    server_at,
)

MEDIA = ("image", "pdf", "audio", "video")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}", re.ASCII)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}", re.ASCII)
# What unlocks this site itself is sent to no server.
_OWN_SECRETS = ("SECRET_KEY", "DATABASE_URL", "REDIS_URL")
_SERVER = ("label", "base_url", "key", "dialect", "default_model", "small_model", "files")
_MODEL = ("window", "takes", "tools", "reasoning", "price", "longest", "tokenizer")
_MOST_TOKENS = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsFile:
    """`servers`: the built-in ones and the file's; `own`: names that the file has servers for.
    `facts` by `server:model`. `offered`: `provider:model`, or `provider:*` for all that the server
    lists; None where the file doesn't say."""

    servers: Mapping[str, Server] = field(default_factory=lambda: SERVERS)
    own: frozenset[str] = frozenset()
    facts: Mapping[str, ModelFacts] = field(default_factory=dict)
    offered: tuple[str, ...] | None = None


def read_models_file(text: str, *, name: str) -> ModelsFile:
    """Raises BadSetting; `name` is the file's, for its messages."""
    try:
        document = json.loads(text, object_pairs_hook=_once)
    except ValueError as error:
        raise BadSetting(f"MODELS_FILE={name!r} is not JSON that can be read: {error}.") from None
    except RecursionError:
        raise BadSetting(f"MODELS_FILE={name!r} is nested too deep.") from None
    try:
        return _read(document)
    except _Bad as bad:
        place = f" {bad.place}" if bad.place else ""
        raise BadSetting(f"MODELS_FILE={name!r}:{place} {bad.why}.") from None


class _Bad(Exception):
    def __init__(self, place: str, why: str) -> None:
        super().__init__(why)
        self.place, self.why = place, why


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key!r} stands there twice")
        found[key] = value
    return found


def _read(document: object) -> ModelsFile:
    top = _object(document, "", ("servers", "models", "offered"))
    own = {
        name: _server(name, said)
        for name, said in _named(top.get("servers", {}), "servers").items()
    }
    servers = {**SERVERS, **own}
    facts = {
        name: _facts(name, said, servers)
        for name, said in _named(top.get("models", {}), "models").items()
    }
    offered = top.get("offered")
    return ModelsFile(
        servers=servers,
        own=frozenset(own),
        facts=facts,
        offered=None if offered is None else _offered(offered, servers),
    )


def _server(name: str, said: object) -> Server:
    place = f"servers.{name}"
    if not _NAME.fullmatch(name) or name in BUILT_IN:
        raise _Bad(place, "is no name for a server: a-z, 0-9, - and _, and not embedded or echo")
    given = _object(said, place, _SERVER)
    built_in = SERVERS.get(name)
    if built_in is None and "base_url" not in given:
        raise _Bad(place, "needs a base_url, like http://127.0.0.1:8000/v1")
    base = built_in or Server(name=name, label=name, dialect="openai", base_url="")
    if "base_url" in given:
        # What only the provider's own address offers isn't asked of another one.
        base = server_at(base, _address(given["base_url"], f"{place}.base_url"))
    texts: dict[str, Any] = {
        key: _text(given[key], f"{place}.{key}", empty=key != "label")
        for key in ("label", "default_model", "small_model")
        if key in given
    }
    return replace(
        base,
        **texts,
        key=_variable(given["key"], f"{place}.key") if "key" in given else base.key,
        dialect=_one_of(given.get("dialect", base.dialect), DIALECTS, f"{place}.dialect"),
        files=_flag(given.get("files", base.files), f"{place}.files"),
    )


def _facts(name: str, said: object, servers: Mapping[str, Server]) -> ModelFacts:
    place = f"models.{name}"
    server, _, model = name.partition(":")
    if server not in servers or not model:
        raise _Bad(place, f"must be server:model; servers are {', '.join(servers)}")
    given = _object(said, place, _MODEL)
    base = known_facts(server, model)
    if base is None and "window" not in given:
        raise _Bad(place, "needs a window in tokens: nothing is known of this model")
    base = base or ModelFacts(window=1)
    more: dict[str, Any] = {
        key: _whole(given[key], f"{place}.{key}") for key in ("window", "longest") if key in given
    }
    for key in ("tools", "reasoning"):
        if key in given:
            more[key] = _flag(given[key], f"{place}.{key}")
    if "takes" in given:
        more["takes"] = _media(given["takes"], f"{place}.takes")
    if "price" in given:
        more["price"] = _price(given["price"], f"{place}.price")
    if "tokenizer" in given:
        said_so = _one_of(given["tokenizer"], ("o200k", "other"), f"{place}.tokenizer")
        more["o200k"] = said_so == "o200k"
    return replace(base, **more)


def _offered(said: object, servers: Mapping[str, Server]) -> tuple[str, ...]:
    providers = (*servers, *BUILT_IN)
    for index, name in enumerate(_list(said, "offered")):
        place = f"offered.{index}"
        provider, colon, model = _text(name, place).partition(":")
        if provider not in providers or not colon or not model:
            raise _Bad(
                place, f"must be provider:model or provider:*; providers are {', '.join(providers)}"
            )
    return tuple(dict.fromkeys(_list(said, "offered")))


def _object(said: object, place: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    found = _named(said, place)
    for key in found:
        if key not in allowed:
            raise _Bad(place, f"has {key!r}, which isn't known; allowed are {', '.join(allowed)}")
    return found


def _named(said: object, place: str) -> dict[str, Any]:
    if not isinstance(said, dict):
        raise _Bad(place, "must be an object: {...}")
    return said


def _list(said: object, place: str) -> list[Any]:
    if not isinstance(said, list):
        raise _Bad(place, "must be a list: [...]")
    return said


def _text(said: object, place: str, *, empty: bool = False) -> str:
    if not isinstance(said, str) or not (empty or said.strip()) or len(said) > 200:
        raise _Bad(place, "must be a text of at most 200 characters")
    return said.strip()


def _variable(said: object, place: str) -> str:
    """Says nothing of what stood there."""
    if said == "":
        return ""
    if not isinstance(said, str) or not _VARIABLE.fullmatch(said) or said in _OWN_SECRETS:
        raise _Bad(
            place,
            "must be the name of the environment variable that holds the key, like VLLM_API_KEY, "
            "and never the key itself",
        )
    return said


def _address(said: object, place: str) -> str:
    if not is_address(said):
        raise _Bad(place, f"must be {ADDRESS}")
    return str(said).rstrip("/")


def _one_of(said: object, allowed: tuple[Any, ...], place: str) -> Any:
    if said not in allowed:
        raise _Bad(place, f"must be one of: {', '.join(allowed)}")
    return said


def _flag(said: object, place: str) -> bool:
    if not isinstance(said, bool):
        raise _Bad(place, "must be true or false")
    return said


def _whole(said: object, place: str) -> int:
    if isinstance(said, bool) or not isinstance(said, int) or not 1 <= said <= _MOST_TOKENS:
        raise _Bad(place, f"must be a whole number of tokens from 1 to {_MOST_TOKENS:,}")
    return said


def _media(said: object, place: str) -> frozenset[Any]:
    return frozenset(_one_of(each, MEDIA, place) for each in _list(said, place))


def _price(said: object, place: str) -> Price:
    """Dollars for a million tokens."""
    names = tuple(each.name for each in fields(Price))
    given = _object(said, place, names)
    for key in ("input", "output"):
        if key not in given:
            raise _Bad(place, f"needs {key}, in dollars for a million tokens")
    for key, value in given.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= 1_000_000:
            raise _Bad(f"{place}.{key}", "must be a number of dollars for a million tokens")
    cached = given.get("cached")
    return Price(
        float(given["input"]), None if cached is None else float(cached), float(given["output"])
    )
