"""The page's modules: folders by subject, imports that go downwards only, and no circles."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHAT = ROOT / "static" / "chat"
IMPORT = re.compile(r"""^(?:import|export)\b[^;'"]*["'](\.\.?/[^"']+)["'];""", flags=re.MULTILINE)
# A module that is loaded when it is needed.
LATER = re.compile(r"""\bimport\(["'](\.\.?/[^"']+)["']\)""")
MODULES = sorted(CHAT.rglob("*.js"))

# A folder may import from itself and from the steps before it, not from others of its step.
LADDER = (
    {"words"},
    {"state"},
    {"net", "elements"},
    {"diagrams", "preview", "prompts", "branches", "text/grammar"},
    {"text"},
    {"actions", "shell"},
    {"message"},
    {"transcript", "composer", "header", "sidebar", "panel", "palette", "share"},
    {""},
)
STEP = {folder: step for step, folders in enumerate(LADDER) for folder in folders}


def folder_of(module: Path) -> str:
    place = module.relative_to(CHAT).parent
    return "" if place == Path() else place.as_posix()


def imports(module: Path) -> list[Path]:
    text = module.read_text()
    return [(module.parent / name).resolve() for name in IMPORT.findall(text) + LATER.findall(text)]


def test_every_folder_has_its_step() -> None:
    assert {folder_of(module) for module in MODULES} == set(STEP)


def test_a_module_imports_only_from_below() -> None:
    for module in MODULES:
        own = folder_of(module)
        for target in imports(module):
            assert target.is_file(), target
            if not target.is_relative_to(CHAT):
                assert target.is_relative_to(ROOT / "static" / "vendor")
                continue
            folder = folder_of(target)
            assert folder == own or STEP[folder] < STEP[own], f"{module}: {folder} is not below"


def test_there_are_no_circles() -> None:
    tuple(TopologicalSorter({module: imports(module) for module in MODULES}).static_order())


def test_main_is_reached_from_nowhere_and_reaches_every_module() -> None:
    reached: set[Path] = set()
    waiting = [CHAT / "main.js"]
    while waiting:
        module = waiting.pop()
        if module.suffix == ".js" and module.is_relative_to(CHAT) and module not in reached:
            reached.add(module)
            waiting += imports(module)
    # Classic scripts in the page's head, so that the theme is there before the first paint, and in
    # the frames of diagrams and previews; and the worker, which has an address of its own.
    assert set(MODULES) - reached == {
        CHAT / "diagrams" / "frame.js",
        CHAT / "preview" / "frame.js",
        CHAT / "shell" / "start.js",
        CHAT / "text" / "worker.js",
    }
