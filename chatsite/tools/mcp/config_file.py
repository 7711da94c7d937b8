"""The file in which the administrator names tool servers: what other MCP clients read too.

    {"mcpServers": {"notes": {"command": "notes-server", "args": ["--read-only"],
                              "env": {"NOTES_TOKEN": "${NOTES_TOKEN}"}},
                    "search": {"url": "https://example.org/mcp",
                               "headers": {"Authorization": "Bearer ${SEARCH_KEY}"}}}}

`${NAME}` in a value of `env` or `headers` stands for that variable of the environment. Messages
name places, never values: a file may hold keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from chatsite.errors import BadSetting

LARGEST = 1024 * 1024
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
    """The servers in the file. Raises BadSetting with the place and what is allowed there."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        _bad(path, "", f"can't be read: {(error.strerror or 'unknown reason').lower()}")
    if len(data) > LARGEST:
        _bad(path, "", "is larger than 1 MiB")
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        _bad(path, "", f"is not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}")
    except (ValueError, RecursionError):
        _bad(path, "", "is not valid JSON in UTF-8")
    reading = _Reading(path, environment)
    servers = reading.mapping(reading.mapping(document, "").get("mcpServers"), "mcpServers")
    return tuple(reading.server(name, said) for name, said in servers.items())


class _Reading:
    def __init__(self, path: Path, environment: Mapping[str, str]) -> None:
        self._path = path
        self._environment = environment

    def bad(self, place: str, reason: str) -> NoReturn:
        _bad(self._path, place, reason)

    def server(self, name: str, value: object) -> ToolServer:
        place = f"mcpServers.{name[:40]}"
        if not _NAME.fullmatch(name):
            self.bad(place, "a name has at most 32 letters, digits, - and single _ between them")
        said = self.mapping(value, place)
        if ("command" in said) == ("url" in said):
            self.bad(place, "needs either command or url")
        allowed = _PROGRAM if "command" in said else _REMOTE
        for key in said:
            if key not in allowed:
                self.bad(f"{place}.{key[:40]}", f"is not known; there are {_listed(allowed)}")
        if "command" in said:
            return self._program(name, said, place)
        return self._remote(name, said, place)

    def _program(self, name: str, said: Mapping[str, object], place: str) -> ToolServer:
        if said.get("type", "stdio") != "stdio":
            self.bad(f"{place}.type", "is stdio where there is a command")
        args = said.get("args", [])
        if not isinstance(args, list):
            self.bad(f"{place}.args", "must be a list of texts")
        cwd = said.get("cwd")
        return ToolServer(
            name=name,
            command=self.text(said["command"], f"{place}.command"),
            args=tuple(
                self.text(arg, f"{place}.args.{at}", empty=True) for at, arg in enumerate(args)
            ),
            env=self.expanded(said.get("env", {}), f"{place}.env"),
            cwd=None if cwd is None else self.text(cwd, f"{place}.cwd"),
        )

    def _remote(self, name: str, said: Mapping[str, object], place: str) -> ToolServer:
        if said.get("type", "http") not in ("http", "streamable-http"):
            self.bad(f"{place}.type", "is http (streamable HTTP) where there is a url")
        url = self.text(said["url"], f"{place}.url")
        try:
            parts = urlsplit(url)
            good = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            good = False
        if not good or "${" in url:
            self.bad(f"{place}.url", "must be an address with http:// or https://, without ${...}")
        if parts.username or parts.password:
            self.bad(f"{place}.url", "may hold no name or password; a key belongs in headers")
        headers = self.expanded(said.get("headers", {}), f"{place}.headers")
        for key, header in headers.items():
            if _CONTROL.search(header) or not (key + header).isascii():
                self.bad(f"{place}.headers.{key[:40]}", "must be one line of ASCII characters")
        return ToolServer(name=name, url=url, headers=headers)

    def expanded(self, value: object, place: str) -> dict[str, str]:
        found = {}
        for key, said in self.mapping(value, place).items():
            here = f"{place}.{key[:40]}"
            if not key or "=" in key or _CONTROL.search(key):
                self.bad(here, "is no name of a variable or header")
            found[key] = self._expanded(self.text(said, here, empty=True), here)
        return found

    def _expanded(self, text: str, place: str) -> str:
        for variable in _VARIABLE.findall(text):
            if not self._environment.get(variable, "").strip():
                self.bad(place, f"names the variable {variable}, which isn't set")
        if "${" in _VARIABLE.sub("", text):
            self.bad(place, "holds a ${ that no variable's name and } follow")
        return _VARIABLE.sub(lambda found: self._environment[found[1]].strip(), text)

    def mapping(self, value: object, place: str) -> dict[str, object]:
        if not isinstance(value, dict):
            self.bad(place, "must be an object" if place else 'must be {"mcpServers": {...}}')
        return value

    def text(self, value: object, place: str, *, empty: bool = False) -> str:
        if not isinstance(value, str) or "\0" in value or not (value.strip() or empty):
            self.bad(place, "must be text" if empty else "must be text that isn't empty")
        return value


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _bad(path: Path, place: str, reason: str) -> NoReturn:
    where = f": {place}" if place else ""
    raise BadSetting(f"TOOLS_FILE={str(path)!r}{where}: {reason}.") from None
