from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STORY = (ROOT / "ARCHITECTURE.md").read_text()
PACKAGES = "agents|checks|conversations|events|history|live|messages|providers|turns|web|wiring"
NAMES = sorted(set(re.findall(rf"`((?:{PACKAGES})(?:\.(?!py`)\w+)+)`", STORY)))
MODULES = sorted(set(re.findall(r"`(static/chat/\w+\.js): (\w+)`", STORY)))


def found(dotted: str) -> bool:
    """Whether the name leads from a module of ours to something that is there."""
    parts = f"chatsite.{dotted}".split(".")
    for length in range(len(parts), 0, -1):
        try:
            there: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            if not hasattr(there, name):
                return False
            there = getattr(there, name)
        return True
    return False


def test_the_story_names_functions() -> None:
    assert len(NAMES) > 15
    assert len(MODULES) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_every_function_that_the_story_names_exists(name: str) -> None:
    assert found(name)


@pytest.mark.parametrize(("file", "name"), MODULES)
def test_every_function_of_the_page_that_the_story_names_exists(file: str, name: str) -> None:
    assert re.search(rf"export (async )?(function|class|const) {name}\b", (ROOT / file).read_text())


def test_a_name_that_does_not_exist_is_noticed() -> None:
    assert not found("turns.turns.Turns.forget_everything")


@pytest.mark.parametrize("document", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_file_that_a_document_links_to_exists(document: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / document).read_text())
    assert [link for link in links if not (ROOT / link).exists()] == []
