"""Other parts import the functions of storage from `store` alone."""

from __future__ import annotations

import ast
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent.parent.parent / "chatsite"
PART = "chatsite.conversations"
# Values, file formats and the server's lock are no units of work.
ALSO_ALLOWED = (
    f"{PART}.values",
    f"{PART}.files.export",
    f"{PART}.files.export_format",
    f"{PART}.files.readable",
    f"{PART}.database.lock",
)
NO_UNIT_OF_WORK = {f"{PART}.outside.outside_messages.{name}" for name in ("ROLES", "SOURCES")}


def imported_names(path: Path) -> set[str]:
    return {
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def test_other_parts_import_units_of_work_from_the_front_door() -> None:
    others = [path for path in PROGRAM.rglob("*.py") if path.parts[-2:-1] != ("migrations",)]
    found = {
        f"{path.relative_to(PROGRAM)}: {name}"
        for path in others
        if not path.is_relative_to(PROGRAM / "conversations")
        for name in imported_names(path)
        if name.startswith(f"{PART}.")
        and name != f"{PART}.store"
        and not name.startswith((f"{PART}.store.", *ALSO_ALLOWED))
        and name not in NO_UNIT_OF_WORK
    }
    assert found == set()
