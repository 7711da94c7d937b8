"""Who may import whom: the table of the architecture, read from the source of every module."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "chatsite"

# Imports go downwards only: a part may import those of the lines above its own.
LEVELS = (
    ("wording",),
    (
        "messages",
        "errors",
        "process_limits",
        "child_process",
        "encoding",
        "alphabets",
        "asgi_types",
    ),
    ("history", "kv", "limits", "checked_file", "mail_account"),
    ("views", "tools", "files"),
    ("events",),
    ("agents", "providers", "conversations"),
    ("turns", "checks", "settings", "startup", "language"),
    ("channels",),
    ("wiring",),
    ("live", "web"),
    ("urls", "asgi", "wsgi"),
)
LEVEL = {part: level for level, parts in enumerate(LEVELS) for part in parts}
WITH_DJANGO = {
    "language",
    "settings",
    "startup",
    "conversations",
    "wiring",
    "checks",
    "live",
    "web",
    "urls",
    "asgi",
    "wsgi",
}
DJANGO = {"django", "channels", "environ", "whitenoise", "csp"}
PURE_PARTS = {
    "wording",
    "alphabets",
    "encoding",
    "messages",
    "errors",
    "views",
    "events",
    "history",
    "kv",
    "limits",
    "mail_account",
}
READS_ENVIRONMENT = "settings.py"
FOR_TESTS = {"hypothesis", "pytest", "tests"}
KIT = "conformance_kit"

MODULES = sorted(
    path
    for path in PROGRAM.rglob("*.py")
    if "migrations" not in path.parts and path != PROGRAM / "__init__.py"
)


def part_of(path: Path) -> str:
    return path.relative_to(PROGRAM).parts[0].removesuffix(".py")


def is_pure(path: Path) -> bool:
    return part_of(path) in PURE_PARTS or path == PROGRAM / "agents" / "template.py"


@cache
def tree_of(path: Path) -> ast.Module:
    """A module's source, parsed once for all the tests of it: parsing is most of their time."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Dotted names of everything a module imports, inside functions too."""
    names: list[str] = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            names += [f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(names)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_downwards_only(path: Path) -> None:
    own = part_of(path)
    assert own in LEVEL, f"{own} has no place in the table"
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "chatsite" and len(parts) > 1 and parts[1] != own:
            assert LEVEL[parts[1]] < LEVEL[own], f"{own} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_django_stays_where_it_is_allowed(path: Path) -> None:
    allowed = part_of(path) in WITH_DJANGO
    found = {name for name in imported(path) if name.split(".")[0] in DJANGO}
    assert allowed or not found


@pytest.mark.parametrize("path", [path for path in MODULES if is_pure(path)], ids=name_of)
def test_pure_parts_import_the_standard_library_only(path: Path) -> None:
    outside = {
        name
        for name in imported(path)
        if name.split(".")[0] not in {*sys.stdlib_module_names, "chatsite"}
    }
    assert not outside
    io = {"os", "pathlib", "time", "random", "socket", "subprocess", "threading", "asyncio"}
    assert not io & {name.split(".")[0] for name in imported(path)}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_what_tests_need_is_not_loaded_by_the_running_server(path: Path) -> None:
    """One command checks a strategy with the kit, and imports it only when it is called."""
    first = {name.split(".")[0] for name in imported(path)}
    assert not FOR_TESTS & first
    if path.name != "check_strategy.py":
        assert KIT not in first
    tree = tree_of(path)
    at_the_top = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    if path.name == "check_strategy.py":
        assert not any(f"{node.module}".startswith(KIT) for node in at_the_top)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_the_settings_read_the_environment(path: Path) -> None:
    if path != PROGRAM / READS_ENVIRONMENT:
        assert not list(lines_that_read(tree_of(path)))


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


@pytest.mark.parametrize(
    ("line", "reads"),
    [
        ("import os; x = os.environ['A']", True),
        ("import os; x = os.getenv('A')", True),
        ("from os import environ", True),
        ("import os; x = os.environ.setdefault('A', 'b')", True),
        ("import os; os.environ['A'] = 'b'", False),
        ("import os; os.environ.setdefault('A', 'b')", False),
    ],
)
def test_reading_is_told_from_setting(line: str, reads: bool) -> None:
    assert bool(list(lines_that_read(ast.parse(line)))) is reads


def test_the_program_folder_itself_is_empty() -> None:
    assert (PROGRAM / "__init__.py").read_text() == ""


def test_pure_parts_import_without_any_third_party_package() -> None:
    """In an interpreter without site-packages, environment and user folder."""
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in MODULES
        if is_pure(path)
    ]
    # chatsite.agents itself may do more than its template: the module is loaded by its path.
    program = f"""
import importlib, importlib.util, sys
sys.path.insert(0, {str(ROOT)!r})
for name in {[name for name in names if not name.startswith("chatsite.agents")]!r}:
    importlib.import_module(name)
spec = importlib.util.spec_from_file_location("template", {str(PROGRAM / "agents/template.py")!r})
module = sys.modules["template"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
known = set(sys.stdlib_module_names) | {{"chatsite", "template", "__main__"}}
print(sorted({{name.split(".")[0] for name in sys.modules}} - known))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
