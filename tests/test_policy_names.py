"""No code asks which policy it is: a policy's name is written in its own module alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from chatsite.history import POLICIES

PROGRAM = Path(__file__).resolve().parent.parent / "chatsite"
# One module a policy.
OWN_MODULES = PROGRAM / "history" / "policies"

NAMES = {policy.name for policy in POLICIES.rows} | set(POLICIES.selectors)
# These names mean nothing else in English or in a protocol, so each occurrence counts.
UNAMBIGUOUS = {"lastN", "lexical", "triage"}
# The words in the names of values that hold a policy or selector.
SUBJECTS = ("policy", "selector")

MODULES = sorted(
    path
    for path in PROGRAM.rglob("*.py")
    if "migrations" not in path.parts and OWN_MODULES not in path.parents
)


def lines_that_ask(tree: ast.Module) -> list[int]:
    """The lines that ask which policy or selector it is."""
    questions = _PolicyQuestions(tree)
    return sorted({node.lineno for node in ast.walk(tree) if questions.found_in(node)})  # type: ignore[attr-defined]


class _PolicyQuestions:
    """Knows a module's constants, so that a name is found behind them too."""

    def __init__(self, tree: ast.Module) -> None:
        self._constants = {
            target.id: set(strings(node.value))
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def found_in(self, node: ast.AST) -> bool:
        match node:
            case ast.Constant():
                return node.value in UNAMBIGUOUS
            case ast.Compare():
                return self._is_compared([node.left, *node.comparators])
            case ast.Match():
                return self._is_compared([node.subject, *(case.pattern for case in node.cases)])
            case ast.Subscript():
                return self._is_compared([node.value, node.slice])
            case ast.keyword():
                return node.arg in SUBJECTS and self._names_one(node.value)
            case ast.Tuple() | ast.List() | ast.Set():
                texts = [e.value for e in node.elts if isinstance(e, ast.Constant)]
                return 1 < len(node.elts) == len(texts) and set(texts) <= NAMES
        return False

    def _is_compared(self, sides: list[ast.AST]) -> bool:
        """Whether one side is about policies and another side names a policy."""
        return any(
            is_about_policies(one) and self._names_one(other)
            for one in sides
            for other in sides
            if one is not other
        )

    def _names_one(self, node: ast.AST) -> bool:
        found = set(strings(node))
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                found |= self._constants.get(inner.id, set())
        return bool(found & NAMES)


def strings(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def is_about_policies(node: ast.AST) -> bool:
    """`settings.policy.value`, `saved.selector`, `facts["policy"]`, `POLICIES`, ..."""
    words = [inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)]
    words += [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)]
    words += list(strings(node))
    return any(about in word.lower() for word in words for about in (*SUBJECTS, "policies"))


def test_no_module_asks_which_policy_it_is() -> None:
    found = {path: lines_that_ask(ast.parse(path.read_text(encoding="utf-8"))) for path in MODULES}
    assert {str(path): lines for path, lines in found.items() if lines} == {}


def test_a_line_that_asks_for_the_policy_is_found() -> None:
    """The check would be blind otherwise, and nobody would notice."""
    for line in (
        "if settings.policy.value == 'summary': pass",
        "if settings.policy.value in ('relevant', 'strategy'): pass",
        "BY_WORDS = ('relevant', 'strategy')",
        "POLICY = 'summary'\nif settings.policy.value != POLICY: pass",
        "if receipt['facts']['policy'] == 'none': pass",
        "match saved.selector:\n    case 'lexical': pass",
        "words = POLICIES['all'].words",
        "found = dict(policy='tokens')",
        "name = 'lastN'",
    ):
        assert lines_that_ask(ast.parse(line)), line
    for line in ("x = row['tokens']", "if kind == 'summary': pass", "role in ('all', 'other')"):
        assert not lines_that_ask(ast.parse(line)), line
