"""An agent's strategy file, checked without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from chatsite.agents.template import Template
from chatsite.checked_file import read_file
from chatsite.history.policies.table import POLICIES
from chatsite.wording import say

STRATEGY_FILE = "strategy.py"
FUNCTION = "build"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyFile:
    """The file's path, and the fault that was found in it ("" where none was).

    `shown` is the path relative to the folder of agents, `line` the line of the fault.
    """

    path: str
    shown: str
    fault: str = ""
    line: int | None = None


def read_strategy(path: str, *, shown: str) -> StrategyFile:
    """The strategy in that file, with its fault. Raises BadFile where it can't be read."""
    fault, line = _fault(read_file(path))
    return StrategyFile(path=path, shown=shown, fault=fault, line=line)


def describe_strategy_fault(
    template: Template, file: StrategyFile | None, *, details: bool = True
) -> str:
    """The fault of the agent's strategy and what applies instead, "" where it has none; without
    `details` it names neither the file nor what is in it."""
    if file is None:
        named = template.chat_settings.get("historyPolicy")
        policy = POLICIES.get(named) if isinstance(named, str) else None
        if policy is None or not policy.runs_agent_code:
            return ""
        return say(
            "Its template names the policy {policy}, and there is no {file}. Until that is mended, "
            "the newest turns within the budget are sent.",
            policy=policy.name,
            file=STRATEGY_FILE,
        )
    if not file.fault:
        return ""
    if not details:
        return say(
            "Its strategy is broken. Until that is mended, the newest turns within the budget are "
            "sent."
        )
    if file.line is None:
        return say(
            "Its strategy is broken ({file}: {fault}). Until that is mended, the newest turns "
            "within the budget are sent.",
            file=file.shown,
            fault=file.fault,
        )
    return say(
        "Its strategy is broken ({file}, line {line}: {fault}). Until that is mended, the newest "
        "turns within the budget are sent.",
        file=file.shown,
        line=file.line,
        fault=file.fault,
    )


def _fault(source: bytes) -> tuple[str, int | None]:
    """The fault that shows without running the source, and its line."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        return f"it isn't valid Python ({error.msg})", error.lineno
    except (ValueError, RecursionError, MemoryError):
        return "it isn't valid Python", None
    bound = dict(_bound_names(tree))
    if FUNCTION not in bound:
        return f"it has no function {FUNCTION}(ctx)", None
    node = bound[FUNCTION]
    if isinstance(node, ast.AsyncFunctionDef):
        return f"{FUNCTION} must be a plain function, not an async one", node.lineno
    if isinstance(node, ast.FunctionDef) and not _takes_one(node.args):
        return f"{FUNCTION} must take one argument: def {FUNCTION}(ctx)", node.lineno
    return "", None


def _bound_names(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Names that the module's statements bind, with the statement; a later binding comes later."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name, node) for alias in node.names)
        else:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    yield inner.id, node
                elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield inner.name, inner


def _takes_one(arguments: ast.arguments) -> bool:
    placed = len(arguments.posonlyargs) + len(arguments.args)
    needed = placed - len(arguments.defaults)
    named = any(default is None for default in arguments.kw_defaults)
    return needed <= 1 and (placed >= 1 or arguments.vararg is not None) and not named
