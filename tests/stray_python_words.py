"""Finds sentences in Python that don't come from the catalogue. Pure: it reads a module's text.

A text of several words counts as a sentence. Docstrings don't, nor what is logged, nor what is
raised for programmers and administrators.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

SAID = frozenset({"say", "say_count", "not_sent", "later"})
LOGGED = frozenset({"debug", "info", "warning", "error", "exception", "critical"})
LOGGERS = frozenset({"logger", "log", "logging"})
# Nobody at the page reads these: a mistake in the code, or a server that doesn't start.
NOT_FOR_THE_PAGE = frozenset(
    {
        *("ValueError", "TypeError", "RuntimeError", "AssertionError", "KeyError"),
        *("NotImplementedError", "ConnectionError", "OSError", "LookupError", "AttributeError"),
        *("BadSetting", "BadFile", "CommandError", "ImproperlyConfigured", "SystemExit"),
    }
)
# Three words, or two and a value: "is not sent" is a sentence, "created at" a name.
SEVERAL_WORDS = re.compile(r"[A-Za-z]{2,}[ ,.:…]+[A-Za-z…]{2,}.* ")


class Stray(NamedTuple):
    """A sentence, and the functions and classes around it: "Class.method", "" for the module."""

    line: int
    inside: str
    text: str


def stray_words(source: str) -> list[Stray]:
    tree = ast.parse(source)
    return list(_walk(tree, (), _docstrings(tree)))


def _walk(node: ast.AST, inside: tuple[str, ...], docstrings: set[ast.AST]) -> Iterator[Stray]:
    if node in docstrings or _is_for_others(node):
        return
    text = _text(node)
    if text is not None:
        if SEVERAL_WORDS.search(text):
            yield Stray(getattr(node, "lineno", 0), ".".join(inside), text)
        # Values of an f-string may hold sentences of their own.
        if not isinstance(node, ast.JoinedStr):
            return
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        inside = (*inside, node.name)
    said = isinstance(node, ast.Call) and _name(node.func) in SAID
    for child in ast.iter_child_nodes(node):
        if said and isinstance(node, ast.Call) and child in node.args:
            continue
        if isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant):
            continue
        yield from _walk(child, inside, docstrings)


def _text(node: ast.AST) -> str | None:
    """A literal's text, with "…" for each value."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
        )
    return None


def _is_for_others(node: ast.AST) -> bool:
    """Whether this is logged, or raised for somebody who isn't at the page."""
    if isinstance(node, ast.Raise):
        return isinstance(node.exc, ast.Call) and _name(node.exc.func) in NOT_FOR_THE_PAGE
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in LOGGED
        and _name(node.func.value) in LOGGERS
    )


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _docstrings(tree: ast.AST) -> set[ast.AST]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, kinds))
    return {body[0].value for body in bodies if body and isinstance(body[0], ast.Expr)}
