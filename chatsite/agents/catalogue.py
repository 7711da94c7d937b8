"""The folder of agents, read from disk: one folder an agent, its `template.json` inside.

A changed file is picked up without a restart. A broken template is listed as broken and stops no
other agent. A slug is looked up among the folders found and never joined to a path.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from chatsite.agents.strategy.file import STRATEGY_FILE, StrategyFile, read_strategy
from chatsite.agents.template import BrokenTemplate, Template
from chatsite.agents.template_file import parse_template
from chatsite.checked_file import LARGEST_FILE, on_one_line, parse_json, read_file, system_reason
from chatsite.errors import BadFile, NotFound
from chatsite.wording import say

TEMPLATE_FILE = "template.json"
LOOK_EVERY = 1.0  # Seconds; looking at a hundred folders costs some 5 ms.

_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Changes whenever the content does; its size and its times alone can stay the same."""

    path: str
    inode: int
    size: int
    modified: int
    changed: int


@dataclass(frozen=True, slots=True)
class _CachedFolder:
    """A folder as it was read. A file without a stamp couldn't be read, so the next look reads it
    again."""

    stamp: FileStamp | None
    agent: Template | BrokenTemplate
    strategy_stamp: FileStamp | None = None
    strategy: StrategyFile | None = None


@dataclass(eq=False)
class Catalogue:
    """The agents of one folder. May be used from any thread.

    `clock` gives seconds that only grow. `others` finds agents that are in no folder, by slug.
    """

    folder: Path
    clock: Callable[[], float] = time.monotonic
    others: Callable[[str], Template | BrokenTemplate | None] = lambda slug: None

    def __post_init__(self) -> None:
        self._lock = Lock()
        self._looked: float | None = None
        self._known: dict[str, _CachedFolder] = {}

    def get(self, slug: str) -> Template:
        """The template of that agent. Raises NotFound, also where the template is broken; the
        reason names a file, so `all` has it for those who may see it."""
        agent = self.find(slug)
        if agent is None:
            raise NotFound(say("There is no agent of that name here."))
        if isinstance(agent, BrokenTemplate):
            raise NotFound(
                say(
                    "This agent can't answer because its template is broken. The conversation is "
                    "kept."
                )
            )
        return agent

    def find(self, slug: str) -> Template | BrokenTemplate | None:
        """The agent, broken or not; None where there is none."""
        known = self._look().get(slug)
        return known.agent if known is not None else self.others(slug)

    def strategy(self, slug: str) -> StrategyFile | None:
        """The agent's strategy file, None where it has none. A broken file breaks no agent."""
        known = self._look().get(slug)
        return known.strategy if known else None

    def all(self) -> tuple[Template | BrokenTemplate, ...]:
        """Those of the folder: usable ones by priority, then name; the broken ones by folder."""
        agents = [known.agent for known in self._look().values()]
        usable = [agent for agent in agents if isinstance(agent, Template)]
        broken = [agent for agent in agents if isinstance(agent, BrokenTemplate)]
        usable.sort(key=lambda agent: (agent.priority, agent.name.casefold(), agent.slug))
        broken.sort(key=lambda agent: agent.slug)
        return (*usable, *broken)

    def _look(self) -> dict[str, _CachedFolder]:
        """The folders by slug, at most `LOOK_EVERY` seconds old."""
        with self._lock:
            now = self.clock()
            if self._looked is None or now - self._looked >= LOOK_EVERY:
                self._known = dict(self._folders())
                self._looked = now
            return self._known

    def _folders(self) -> Iterator[tuple[str, _CachedFolder]]:
        try:
            with os.scandir(self.folder) as entries:
                names = [entry.name for entry in entries if _is_candidate(entry)]
        except OSError as error:
            reason = f"the folder of agents can't be read: {system_reason(error)}"
            yield "", _CachedFolder(None, BrokenTemplate(slug="", file=".", key="", reason=reason))
            return
        root = os.path.realpath(self.folder)
        for name in names:
            shown = name if _SLUG.fullmatch(name) else on_one_line(name)
            known = self._known.get(shown)
            stamp, agent = _find_template(root, name, shown, known)
            if isinstance(agent, Template):
                yield shown, _CachedFolder(stamp, agent, *_find_strategy(root, name, known))
            else:
                yield shown, _CachedFolder(stamp, agent)


def _find_template(
    root: str, name: str, shown: str, known: _CachedFolder | None
) -> tuple[FileStamp | None, Template | BrokenTemplate]:
    """The template in that folder and its stamp; the known one where its file hasn't changed."""
    there: FileStamp | None = None
    try:
        if not _SLUG.fullmatch(name):
            raise BadFile(
                "the folder's name becomes part of links: 1 to 64 of a-z, 0-9, - and _, "
                "a letter or digit first"
            )
        there = file_stamp(root, name, TEMPLATE_FILE)
        if there is None:
            raise BadFile("there is no such file")
        if known is not None and known.stamp == there:
            return there, known.agent
        return there, parse_template(name, parse_json(read_file(there.path)))
    except BadFile as error:
        file = f"{shown}/{TEMPLATE_FILE}"
        return there, BrokenTemplate(slug=shown, file=file, key=error.key, reason=error.message)


def _find_strategy(
    root: str, name: str, known: _CachedFolder | None
) -> tuple[FileStamp | None, StrategyFile | None]:
    """The strategy in that folder and its stamp, likewise; None where there is none."""
    shown = f"{name}/{STRATEGY_FILE}"
    there: FileStamp | None = None
    try:
        there = file_stamp(root, name, STRATEGY_FILE)
        if there is None:
            return None, None
        if known is not None and known.strategy_stamp == there:
            return there, known.strategy
        return there, read_strategy(there.path, shown=shown)
    except BadFile as error:
        return there, StrategyFile(path="", shown=shown, fault=f"it {error.message}")


def file_stamp(root: str, name: str, file: str) -> FileStamp | None:
    """The stamp of the file, None where there is no file. `root` is a real path.

    Links are followed, but not out of the root. Raises BadFile for what isn't a file of
    sensible size.
    """
    try:
        path = os.path.realpath(os.path.join(root, name, file), strict=True)
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadFile(f"can't be read: {system_reason(error)}") from None
    if not Path(path).is_relative_to(root):
        raise BadFile("is a link that leads out of the folder of agents")
    if not stat.S_ISREG(found.st_mode):
        raise BadFile("is not a file")
    if found.st_size > LARGEST_FILE:
        raise BadFile("is larger than 1 MiB")
    return FileStamp(path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def describe_broken(broken: BrokenTemplate) -> str:
    """File, key and reason on one line."""
    return ": ".join(part for part in (broken.file, broken.key, broken.reason) if part)


def _is_candidate(entry: os.DirEntry[str]) -> bool:
    """Whether the entry is a folder or a link (even a dangling one) and isn't hidden, like .git."""
    if entry.name.startswith("."):
        return False
    try:
        return entry.is_dir() or (entry.is_symlink() and not os.path.exists(entry.path))
    except OSError:
        return True
