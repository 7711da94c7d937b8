"""MODELS_FILE: an administrator's own servers and models, checked strictly before anything starts.

Every message names the place in the file, what is wrong and what is allowed. A value in the place
of a key's name is never repeated: it may be the key itself. docs/models.md describes the format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from chatsite.checked_file import Node, parse_json
from chatsite.errors import BadFile, BadSetting
from chatsite.providers.known.models import ModelFacts, known_facts, read_facts, require_known
from chatsite.providers.known.servers import (
    ADDRESS,
    BUILT_IN,
    DIALECTS,
    SERVERS,
    Dialect,
    Server,
    is_address,
    server_at,
)

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}", re.ASCII)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}", re.ASCII)
# Secrets of this site itself, which no server may get.
_OWN_SECRETS = ("SECRET_KEY", "DATABASE_URL", "REDIS_URL")
_SERVER = ("label", "base_url", "key", "dialect", "default_model", "small_model", "files")
_MODEL = ("window", "takes", "tools", "reasoning", "price", "longest", "tokenizer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsFile:
    """`servers`: the built-in ones and the file's; `own`: the names of the file's servers. `facts`
    are by `server:model`. `offered`: `provider:model`, or `provider:*` for all models that the
    server lists; None where the file has no such list."""

    servers: Mapping[str, Server] = field(default_factory=lambda: SERVERS)
    own: frozenset[str] = frozenset()
    facts: Mapping[str, ModelFacts] = field(default_factory=dict)
    offered: tuple[str, ...] | None = None


def read_models_file(text: str, *, name: str) -> ModelsFile:
    """Raises BadSetting; `name` is the file's, for its messages."""
    try:
        document = parse_json(text.encode())
    except BadFile as error:
        reason = f"{error.key or 'it'} {error.message}"
        raise BadSetting(f"MODELS_FILE={name!r} is not JSON that can be read: {reason}.") from None
    try:
        return _models_file(Node(document))
    except BadFile as error:
        place = f" {error.key}" if error.key else ""
        raise BadSetting(f"MODELS_FILE={name!r}:{place} {error.message}.") from None


def _models_file(document: Node) -> ModelsFile:
    document.mapping()
    require_known(document, ("servers", "models", "offered"))
    own = {name: _server(name, node) for name, node in document["servers"].items()}
    servers = {**SERVERS, **own}
    return ModelsFile(
        servers=servers,
        own=frozenset(own),
        facts={name: _facts(name, node, servers) for name, node in document["models"].items()},
        offered=document.optional("offered", lambda node: _offered(node, servers), None),
    )


def _server(name: str, given: Node) -> Server:
    if not _NAME.fullmatch(name) or name in BUILT_IN:
        raise given.error("is no name for a server: a-z, 0-9, - and _, and not embedded or echo")
    require_known(given, _SERVER)
    built_in = SERVERS.get(name)
    if built_in is None and given["base_url"].value is None:
        raise given.error("needs a base_url, like http://127.0.0.1:8000/v1")
    base = built_in or Server(name=name, label=name, base_url="")
    if given["base_url"].value is not None:
        # What only the provider's own address offers isn't asked of another one.
        if not is_address(given["base_url"].value):
            raise given["base_url"].error(f"must be {ADDRESS}")
        base = server_at(base, str(given["base_url"].value).rstrip("/"))
    return replace(
        base,
        label=given.optional("label", lambda node: _short_text(node, empty=False), base.label),
        default_model=given.optional("default_model", _short_text, base.default_model),
        small_model=given.optional("small_model", _short_text, base.small_model),
        key=_variable(given["key"]) if "key" in given else base.key,
        dialect=cast(
            Dialect, given.optional("dialect", lambda node: node.one_of(DIALECTS), base.dialect)
        ),
        files=given.optional("files", Node.flag, base.files),
        stated=frozenset(name for name in _SERVER if given[name].value is not None),
    )


def _facts(name: str, given: Node, servers: Mapping[str, Server]) -> ModelFacts:
    server, _, model = name.partition(":")
    if server not in servers or not model:
        raise given.error(f"must be server:model; servers are {', '.join(servers)}")
    require_known(given, _MODEL)
    base = known_facts(server, model)
    if base is None and given["window"].value is None:
        raise given.error("needs a window in tokens: nothing is known of this model")
    base = base or ModelFacts(window=1)
    tokenizer = given.optional("tokenizer", lambda node: node.one_of(("o200k", "other")), "")
    facts = read_facts(given, base)
    return replace(facts, o200k=tokenizer == "o200k") if tokenizer else facts


def _offered(given: Node, servers: Mapping[str, Server]) -> tuple[str, ...]:
    providers = (*servers, *BUILT_IN)
    for node in given.list_of("texts"):
        provider, colon, model = _short_text(node, empty=False).partition(":")
        if provider not in providers or not colon or not model:
            raise node.error(
                f"must be provider:model or provider:*; providers are {', '.join(providers)}"
            )
    return tuple(dict.fromkeys(given.texts()))


def _short_text(node: Node, *, empty: bool = True) -> str:
    return node.text(empty=empty, longest=200).strip()


def _variable(node: Node) -> str:
    """The message doesn't repeat the value, which may be the key itself."""
    name = node.value
    if name == "":
        return ""
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name) or name in _OWN_SECRETS:
        raise node.error(
            "must be the name of the environment variable that holds the key, like VLLM_API_KEY, "
            "and never the key itself"
        )
    return name
