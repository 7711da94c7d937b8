"""What import-linter can't say of the program's modules (`pyproject.toml` says the rest)."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "chatsite"
MODULES = sorted(path for path in PROGRAM.rglob("*.py") if "migrations" not in path.parts)
PURE = (
    *("wording", "alphabets", "encoding", "messages", "errors", "views", "events", "history"),
    *("limits", "agents/template", "kv_cache/books", "mail/account"),
)
# What reaches the clock, the disk, the network or the environment.
IMPURE = {"os", "pathlib", "time", "random", "socket", "subprocess", "threading", "asyncio"}


@cache
def trees() -> dict[Path, ast.Module]:
    """The source of each module, parsed once."""
    # Python 3.11 may fail if garbage is collected meanwhile ("recursion depth mismatch").
    gc.disable()
    try:
        return {path: ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}
    finally:
        gc.enable()


def part_of(path: Path) -> str:
    return path.relative_to(PROGRAM).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def pure_modules() -> list[Path]:
    """Each module that `PURE` names by itself or by its folder."""
    found = []
    for name in PURE:
        place = PROGRAM / name
        named = [
            path for path in MODULES if path == place.with_suffix(".py") or place in path.parents
        ]
        assert named, f"{name} is no module and no folder"
        found += named
    return found


def imported(tree: ast.Module) -> Iterator[str]:
    """The first names of everything a module imports, inside functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module and node.level == 0, "imports are written in full"
            yield node.module.partition(".")[0]


def test_pure_parts_import_the_standard_library_only() -> None:
    allowed = {*sys.stdlib_module_names, "chatsite"} - IMPURE
    found = {path: set(imported(trees()[path])) - allowed for path in pure_modules()}
    assert {str(path): names for path, names in found.items() if names} == {}


def test_pure_parts_import_without_any_third_party_package() -> None:
    """In an interpreter without site-packages, environment and user folder."""
    program = f"""
import importlib, sys
sys.path.insert(0, {str(ROOT)!r})
for name in {[name_of(path) for path in pure_modules()]!r}:
    importlib.import_module(name)
known = set(sys.stdlib_module_names) | {{"chatsite", "__main__"}}
print(sorted({{name.split(".")[0] for name in sys.modules}} - known))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_the_conformance_kit_is_loaded_only_when_it_is_called() -> None:
    """The kit needs Hypothesis, which a server doesn't install."""
    at_the_top = [
        (part_of(path), node.module)
        for path, tree in trees().items()
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and f"{node.module}".startswith("conformance_kit")
    ]
    assert at_the_top == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Whether such a circle can be loaded would depend on which of its modules comes first."""
    names = {name_of(path): tree for path, tree in trees().items()}
    graph = {name: set(modules_at_the_top(tree, names)) - {name} for name, tree in names.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def modules_at_the_top(tree: ast.Module, names: Collection[str]) -> Iterator[str]:
    """What a module imports while it is loaded."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield from {module if module in names else node.module} & set(names)


def test_only_the_settings_read_the_environment() -> None:
    readers = {path for path, tree in trees().items() if any(lines_that_read(tree))}
    assert readers == {PROGRAM / "environment.py", PROGRAM / "settings.py"}


def lines_that_read(tree: ast.Module) -> Iterator[int]:
    """Line numbers. Setting a variable for a library is no reading, even as a default."""
    written = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            written.add(node.value)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            if isinstance(called, ast.Attribute) and called.attr == "setdefault":
                written.add(called.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}:
            yield from [] if node in written else [node.lineno]
        elif (
            isinstance(node, ast.ImportFrom)
            and node.module == "os"
            and {"environ", "getenv"} & {alias.name for alias in node.names}
        ):
            yield node.lineno


def test_the_program_folder_itself_is_empty() -> None:
    assert (PROGRAM / "__init__.py").read_text() == ""


def test_no_two_public_classes_of_a_part_have_one_name() -> None:
    places = defaultdict(list)
    for path, tree in trees().items():
        # Django finds a management command by its module and wants the class named Command.
        if "commands" not in path.parts and path.parent != PROGRAM:
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[part_of(path), node.name].append(str(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_two_names_differ_by_an_underscore_alone() -> None:
    for path, tree in trees().items():
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        for body in (tree.body, *(one.body for one in classes)):
            names = Counter(
                node.name.strip("_")
                for node in body
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
                and not node.name.startswith("__")
                and not any(
                    isinstance(one, ast.Attribute) and one.attr == "setter"
                    for one in node.decorator_list
                )
            )
            assert [name for name, count in names.items() if count > 1] == [], path
