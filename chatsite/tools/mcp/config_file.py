"""The file in which the administrator names tool servers, in the format of other MCP clients.

    {"mcpServers": {"notes": {"command": "notes-server", "args": ["--read-only"],
                              "env": {"NOTES_TOKEN": "${NOTES_TOKEN}"}},
                    "search": {"url": "https://example.org/mcp",
                               "headers": {"Authorization": "Bearer ${SEARCH_KEY}"}}}}

`${NAME}` in a value of `env` or `headers` stands for that variable of the environment. Messages
name places, never values: a file may hold keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from chatsite.checked_file import Node, read_setting_file

# A name becomes the beginning of its tools' names, cut off again at the first double underscore.
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]|_(?=[A-Za-z0-9-])){0,31}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PROGRAM = frozenset({"type", "command", "args", "env", "cwd"})
_REMOTE = frozenset({"type", "url", "headers"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServer:
    """Either `command` or `url` is set. What may hold a key is in no repr."""

    name: str
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    cwd: str | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)


def tool_servers(path: Path, *, environment: Mapping[str, str]) -> tuple[ToolServer, ...]:
    """Return the servers in the file. Raises BadSetting with the place and what is allowed
    there."""

    def servers_in(document: Node) -> tuple[ToolServer, ...]:
        if not isinstance(document.value, dict):
            raise document.error('must be {"mcpServers": {...}}')
        servers = document["mcpServers"]
        if servers.value is None:
            raise servers.error("must be an object")
        return tuple(_server(name, node, environment) for name, node in servers.items())

    return read_setting_file("TOOLS_FILE", path, servers_in)


def _server(name: str, given: Node, environment: Mapping[str, str]) -> ToolServer:
    if not _NAME.fullmatch(name):
        raise given.error("a name has at most 32 letters, digits, - and single _ between them")
    if ("command" in given) == ("url" in given):
        raise given.error("needs either command or url")
    allowed = _PROGRAM if "command" in given else _REMOTE
    for _, unknown in given.unknown(allowed):
        raise unknown.error(f"is not known; there are {', '.join(sorted(allowed))}")
    return (_program if "command" in given else _remote)(name, given, environment)


def _program(name: str, given: Node, environment: Mapping[str, str]) -> ToolServer:
    if given.optional("type", Node.text, "stdio") != "stdio":
        raise given["type"].error("is stdio where there is a command")
    return ToolServer(
        name=name,
        command=given["command"].text(empty=False),
        args=given["args"].texts(),
        env=_expand_variables(given["env"], environment),
        cwd=given.optional("cwd", lambda node: node.text(empty=False), None),
    )


def _remote(name: str, given: Node, environment: Mapping[str, str]) -> ToolServer:
    if given.optional("type", Node.text, "http") not in ("http", "streamable-http"):
        raise given["type"].error("is http (streamable HTTP) where there is a url")
    url = given["url"].text(empty=False)
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        good = False
    if not good or "${" in url:
        raise given["url"].error("must be an address with http:// or https://, without ${...}")
    if parts.username or parts.password:
        raise given["url"].error("may hold no name or password; a key belongs in headers")
    headers = _expand_variables(given["headers"], environment)
    for key, header in headers.items():
        if _CONTROL.search(header) or not (key + header).isascii():
            raise given["headers"][key].error("must be one line of ASCII characters")
    return ToolServer(name=name, url=url, headers=headers)


def _expand_variables(given: Node, environment: Mapping[str, str]) -> dict[str, str]:
    """The texts of an object, with the values of the variables that they name."""
    found = {}
    for key, node in given.items():
        if not key or "=" in key or _CONTROL.search(key):
            raise node.error("is no name of a variable or header")
        text = node.text()
        for variable in _VARIABLE.findall(text):
            if not environment.get(variable, "").strip():
                raise node.error(f"names the variable {variable}, which isn't set")
        if "${" in _VARIABLE.sub("", text):
            raise node.error("holds a ${ that no variable's name and } follow")
        found[key] = _VARIABLE.sub(lambda match: environment[match[1]].strip(), text)
    return found
