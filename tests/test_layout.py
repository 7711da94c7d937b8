"""What `ls` promises: few modules a folder, imports downwards inside a part, one meaning a name."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "chatsite"

# A person holds seven to ten names in mind; about twelve is as far as a folder may go.
MOST_MODULES = 12

# Inside a part too imports go downwards only: the lowest line first. Modules and folders of one
# line don't import each other.
INSIDE: Mapping[str, tuple[str, ...]] = {
    "history": (
        "values",
        "lexical live_list path selection summary_plan",
        "policies",
        "settings",
        "decision",
        "records",
    ),
    "kv": ("books cleanup", "cleanup_setting reuse sessions"),
    "files": (
        "containers folder names",
        "encodings",
        "kinds",
        "pictures texts",
        "intake pdfs",
        "inspector",
    ),
    "tools": (
        "tool",
        "arguments calculator clock search_history",
        "call mcp",
        "toolbox",
        "builtin",
    ),
    "agents": (
        "file_stamp template",
        "strategy unused_keys",
        "template_file",
        "catalogue",
    ),
    "providers": (
        "base",
        "echo known tokens",
        "http",
        "anthropic openai",
        "embedded reachable",
    ),
    "conversations": (
        "tables",
        "models values",
        "database",
        "files",
        "apps reads",
        "active_path search_indexes summaries",
        "cache",
        "turn",
        "upkeep",
        "copies outside",
        "admin store",
    ),
    "turns": (
        "agents ports sockets",
        "account_watch context",
        "answer evidence",
        "history_choice running_turns what_if",
        "snapshots",
        "turns",
    ),
    "channels": ("channel rooms", "desk mail", "supervisor", "talk"),
    "wiring": ("account_signals mail parts talk", "site"),
    "limits": ("addresses table", "limiter", "sign_ins"),
    "live": ("commands frames origin", "limits", "consumer"),
    "web": (
        "people",
        "server",
        "admin api health management pages",
        "accounts",
        "apps",
    ),
}

MODULES = sorted(
    path
    for path in PROGRAM.rglob("*.py")
    if "migrations" not in path.parts and path.name != "__init__.py"
)
PARTS = sorted({path.relative_to(PROGRAM).parts[0] for path in MODULES if path.parent != PROGRAM})
FOLDERS = sorted({path.parent for path in MODULES if path.parent != PROGRAM})


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports_inside(path: Path, part: str) -> Iterator[str]:
    """Modules and folders of the same part that a module imports, by their first name."""
    start = f"chatsite.{part}."
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name.startswith(start):
                    yield name.removeprefix(start).split(".")[0]


def level_in(part: str, name: str) -> int:
    for level, line in enumerate(INSIDE[part]):
        if name in line.split():
            return level
    raise AssertionError(f"{name} has no place in the ladder of {part}")


@pytest.mark.parametrize("part", PARTS)
def test_imports_inside_a_part_go_downwards_only(part: str) -> None:
    for path in MODULES:
        inner = path.relative_to(PROGRAM).parts
        if inner[0] != part:
            continue
        own = inner[1].removesuffix(".py")
        for name in imports_inside(path, part):
            if (
                name != own
                and (PROGRAM / part / name).exists() | (PROGRAM / part / f"{name}.py").exists()
            ):
                assert level_in(part, name) < level_in(part, own), f"{dotted(path)} imports {name}"


@pytest.mark.parametrize("part", PARTS)
def test_the_ladder_of_a_part_names_what_is_there_and_nothing_else(part: str) -> None:
    there = {
        path.relative_to(PROGRAM).parts[1].removesuffix(".py")
        for path in MODULES
        if path.relative_to(PROGRAM).parts[0] == part
    }
    named = [name for line in INSIDE[part] for name in line.split()]
    assert sorted(named) == sorted(there)


# These folders are lists: one module for each policy.
LISTS = {PROGRAM / "history" / "policies"}


@pytest.mark.parametrize("folder", [one for one in FOLDERS if one not in LISTS], ids=name_of)
def test_a_folder_has_about_twelve_modules_at_most(folder: Path) -> None:
    assert sum(path.parent == folder for path in MODULES) <= MOST_MODULES


@pytest.mark.parametrize("part", PARTS)
def test_no_two_public_classes_of_a_part_have_one_name(part: str) -> None:
    places = defaultdict(list)
    for path in MODULES:
        # Django finds a management command by its module and wants the class named Command.
        if path.relative_to(PROGRAM).parts[0] == part and "commands" not in path.parts:
            for node in tree(path).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(name_of(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_two_names_differ_by_an_underscore_alone(path: Path) -> None:
    scopes = [
        tree(path).body,
        *(n.body for n in ast.walk(tree(path)) if isinstance(n, ast.ClassDef)),
    ]
    for body in scopes:
        names = Counter(
            node.name.strip("_")
            for node in body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and not node.name.startswith("__")
            and not any(
                isinstance(d, ast.Attribute) and d.attr == "setter" for d in node.decorator_list
            )
        )
        assert [name for name, count in names.items() if count > 1] == []
