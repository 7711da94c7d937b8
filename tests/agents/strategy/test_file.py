"""Finding an agent's strategy file and checking it without running it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chatsite.agents.catalogue import Catalogue
from chatsite.agents.strategy.file import StrategyFile

GOOD = "def build(ctx):\n    pass\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "template.json").write_text('{"name": "Ada", "personality": "You help."}')
    return tmp_path


class Clock:
    """A clock that only the test advances."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def strategy(folder: Path, source: str | bytes) -> StrategyFile:
    data = source.encode() if isinstance(source, str) else source
    (folder / "ada" / "strategy.py").write_bytes(data)
    found = Catalogue(folder).strategy("ada")
    assert found is not None
    return found


def test_no_strategy_is_found_without_a_file_or_outside_the_agents(folder: Path) -> None:
    assert Catalogue(folder).strategy("ada") is None
    assert Catalogue(folder).strategy("../ada") is None


@pytest.mark.parametrize(
    "source",
    [
        GOOD,
        "from functools import partial\nbuild = partial(print, 1)\n",
        "from os import getpid as build\n",
        "def build(ctx, *, more=1): ...",
        "def build(*given): ...",
        "if True:\n    def build(ctx): ...",
        "# -*- coding: latin-1 -*-\nname = '\xe9'\ndef build(ctx): ...".encode("latin-1"),
    ],
)
def test_a_good_strategy_has_no_fault(folder: Path, source: str | bytes) -> None:
    found = strategy(folder, source)
    assert (found.fault, found.shown) == ("", "ada/strategy.py")


@pytest.mark.parametrize(
    ("source", "fault", "line"),
    [
        ("def build(ctx:\n", "it isn't valid Python ('(' was never closed)", 1),
        ("x = 1\n\0", "it isn't valid Python", None),
        ("def built(ctx): ...", "it has no function build(ctx)", None),
        ("\nasync def build(ctx): ...", "build must be a plain function, not an async one", 2),
        ("def build(): ...", "build must take one argument: def build(ctx)", 1),
        ("def build(ctx, more): ...", "build must take one argument: def build(ctx)", 1),
        ("def build(ctx, *, more): ...", "build must take one argument: def build(ctx)", 1),
        ("#" * 1_100_000, "it is larger than 1 MiB", None),
    ],
)
def test_a_fault_is_reported_and_breaks_no_agent(
    folder: Path, source: str, fault: str, line: int | None
) -> None:
    found = strategy(folder, source)
    assert found.fault.startswith(fault)
    assert line is None or found.line == line
    assert Catalogue(folder).get("ada").name == "Ada"


def test_a_link_out_of_the_folder_of_agents_is_refused(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path.parent / "outside.py"
    outside.write_text(GOOD)
    os.symlink(outside, folder / "ada" / "strategy.py")
    found = Catalogue(folder).strategy("ada")
    assert found is not None
    assert found.fault == "it is a link that leads out of the folder of agents"


def test_a_change_is_seen_within_a_second_and_an_unchanged_file_is_not_read_again(
    folder: Path,
) -> None:
    clock = Clock()
    catalogue = Catalogue(folder, clock=clock)
    assert catalogue.strategy("ada") is None
    (folder / "ada" / "strategy.py").write_text("def build(: ...")
    assert catalogue.strategy("ada") is None
    clock.now += 1
    broken = catalogue.strategy("ada")
    assert broken is not None and broken.fault
    clock.now += 1
    assert catalogue.strategy("ada") is broken
    (folder / "ada" / "strategy.py").write_text(GOOD)
    clock.now += 1
    mended = catalogue.strategy("ada")
    assert mended is not None and not mended.fault
    (folder / "ada" / "strategy.py").unlink()
    clock.now += 1
    assert catalogue.strategy("ada") is None
