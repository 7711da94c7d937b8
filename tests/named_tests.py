"""The tests that a document names: whether they exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def rows(document: Path, *, heads: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """The section and the cells of each row of a document's tables, those of their heads apart."""
    section = ""
    for line in document.read_text().splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.startswith("| ") and section:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if cells[0] not in heads:
                yield section, cells


@cache
def names_in(file: str) -> frozenset[str]:
    """The tests of a file by their names after `::`."""
    found: set[str] = set()
    for node in ast.parse((ROOT / file).read_text()).body:
        if isinstance(node, ast.ClassDef):
            methods = (one for one in node.body if isinstance(one, FUNCTIONS))
            found |= {f"{node.name}::{one.name}" for one in methods}
        elif isinstance(node, FUNCTIONS):
            found.add(node.name)
    return frozenset(name for name in found if name.rpartition("::")[2].startswith("test_"))


def is_a_test(name: str) -> bool:
    """`name` is as pytest takes it: "tests/test_wiring.py::test_who_may_open_the_panel"."""
    file, _, rest = name.partition("::")
    return (ROOT / file).is_file() and rest in names_in(file)
