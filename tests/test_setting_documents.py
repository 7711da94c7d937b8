"""`.env.example` and docs/policies.md say of every history setting what the table says.

What stands between their marks is written from the table, after a change of it:
`GOLDEN=write .venv/bin/python -m pytest tests/test_setting_documents.py`.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

from chatsite.history.settings.grammar import OneOf
from chatsite.history.settings.row import Group, SettingRow
from chatsite.history.settings.table import CONVERSATION_ROWS, HISTORY_ROWS
from tests.running import ROOT

Rows = dict[str, SettingRow[Any]]
ROWS: dict[Group, Rows] = {"history": HISTORY_ROWS, "conversation": CONVERSATION_ROWS}


def built_in(row: SettingRow[Any]) -> str:
    if row.built_in is None:
        return ""
    if isinstance(row.built_in, bool):
        return str(row.built_in).lower()
    return f"{row.built_in:g}" if isinstance(row.built_in, float) else str(row.built_in)


def manual(row: SettingRow[Any]) -> str:
    if not isinstance(row.grammar, OneOf):
        return row.manual
    words = ", ".join(f"`{word}`" for word in row.grammar.words)
    return f"{row.manual} One of: {words}."


def variables(rows: Rows) -> Iterator[str]:
    for row in rows.values():
        yield from textwrap.wrap(
            manual(row).replace("`", ""), 100, initial_indent="# ", subsequent_indent="# "
        )
        yield f"# {row.environment[0]}={built_in(row)}"


def history_table(rows: Rows) -> Iterator[str]:
    yield "| setting | environment | URL | template, `chatSettings` | built in | what it does |"
    yield "|---|---|---|---|---|---|"
    for row in rows.values():
        url = f"`{row.url}` " if row.url else ""
        value = f"`{built_in(row)}`" if isinstance(row.built_in, str) else built_in(row) or "none"
        yield (
            f"| {row.label} | `{row.environment[0]}` | {url}| `{row.template}` | {value} "
            f"| {manual(row)} |"
        )


def conversation_table(rows: Rows) -> Iterator[str]:
    yield "| name | environment | built in | what it does |"
    yield "|---|---|---|---|"
    for row in rows.values():
        value = f"`{built_in(row)}`" if isinstance(row.built_in, str) else built_in(row)
        yield f"| `{row.name}` | `{row.environment[0]}` | {value} | {manual(row)} |"


@pytest.mark.parametrize("group", ROWS)
@pytest.mark.parametrize("document", [".env.example", "docs/policies.md"])
def test_the_document_says_what_the_table_says(document: str, group: Group) -> None:
    path, rows = ROOT / document, ROWS[group]
    if document == ".env.example":
        first, last, lines = f"# <{group} settings>", f"# </{group} settings>", variables(rows)
    else:
        first, last = f"<!-- {group} settings -->\n", f"\n<!-- end of {group} settings -->"
        lines = history_table(rows) if group == "history" else conversation_table(rows)
    block = "\n".join((first, *lines, last))
    text = path.read_text(encoding="utf-8")
    between = re.compile(f"{re.escape(first)}.*{re.escape(last)}", re.DOTALL)
    if os.environ.get("GOLDEN") == "write":
        path.write_text(between.sub(lambda found: block, text), encoding="utf-8")
    found = between.search(path.read_text(encoding="utf-8"))
    assert found is not None and found[0] == block, "the docstring says how to write it"
