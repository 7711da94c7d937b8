"""What the documents name exists: functions, files, commands, links, tests and settings."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from chatsite.history import ENVIRONMENT_NAMES, POLICIES, resolve
from chatsite.history.settings.table import CONVERSATION_ROWS, HISTORY_ROWS, URL_NAMES
from chatsite.providers.known.servers import SERVERS
from tests.commands.__main__ import NAMES as DEVELOPERS_COMMANDS

ROOT = Path(__file__).resolve().parent.parent
STORY = (ROOT / "ARCHITECTURE.md").read_text()
FOLDERS = ("docs", "docs/evidence", ".github", ".github/ISSUE_TEMPLATE")
POLICIES_DOCUMENT = (ROOT / "docs/policies.md").read_text()
DOCUMENTS = [
    str(path.relative_to(ROOT))
    for folder in (ROOT, *(ROOT / name for name in FOLDERS))
    for path in sorted(folder.glob("*.md"))
]
WIDTH = 120
PARTS = "|".join(
    sorted(path.stem for path in (ROOT / "chatsite").iterdir() if path.stem.isidentifier())
)
ENDINGS = "py|js|ts|css|html|md|json|toml|yaml|yml|sh|in|txt|png"
DOTTED = rf"`((?:chatsite\.)?(?:{PARTS})(?:\.(?!(?:{ENDINGS})\b)\w+)+)`"
FILES = rf"`((?:[\w.*-]+/)*[\w.*-]+\.(?:{ENDINGS}))(?:: \w+)?`"
NAMES = sorted(set(re.findall(DOTTED, STORY)))
MODULES = sorted(set(re.findall(r"`(static/chat/[\w/-]+\.js): (\w+)`", STORY)))
# Earlier versions had these; their part of the changelog stays as it was.
MOVED_COMMANDS = {"simulate_history", "replay_receipt"}
# Files that an administrator, an agent or a run makes, not part of the project.
FOREIGN_FILES = {"models.json", "tools.json", "agents/pirate/template.json"}


def is_found(dotted: str) -> bool:
    """Whether the dotted name leads from one of our modules to something that exists."""
    parts = f"chatsite.{dotted.removeprefix('chatsite.')}".split(".")
    for length in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            if not hasattr(value, name):
                return False
            value = getattr(value, name)
        return True
    return False


def texts() -> Iterator[tuple[Path, str]]:
    """Each document and its text."""
    for document in DOCUMENTS:
        yield ROOT / document, (ROOT / document).read_text()


def test_every_function_that_the_story_names_exists() -> None:
    assert len(NAMES) > 15 and len(MODULES) >= 2
    assert [name for name in NAMES if not is_found(name)] == []
    for file, name in MODULES:
        exported = rf"export (async )?(function|class|const) {name}\b"
        assert re.search(exported, (ROOT / file).read_text()), (file, name)
    assert not is_found("turns.turns.Turns.forget_everything"), "the check is blind"


def is_a_file(name: str, document: Path) -> bool:
    """Whether a document's `name` is one of our files: a path from one of the places that
    documents mean, or, without a folder, the name of any file in the project."""
    if name in FOREIGN_FILES:
        return True
    if "/" not in name:
        return bool(project_files(name))
    places = (ROOT, ROOT / "chatsite", document.parent)
    return any(next(place.glob(name), None) for place in places)


@lru_cache
def project_files(name: str) -> tuple[Path, ...]:
    folders = (
        "agents",
        "chatsite",
        "conformance_kit",
        "docs",
        "scripts",
        "static",
        "templates",
        "tests",
    )
    found = [path for folder in folders for path in (ROOT / folder).rglob(name)]
    return (*found, *ROOT.glob(name))


def test_every_document_is_checked() -> None:
    assert {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"} < set(DOCUMENTS)
    assert {"CHANGELOG.md", "docs/README.md", ".github/pull_request_template.md"} < set(DOCUMENTS)
    index = (ROOT / "docs/README.md").read_text()
    docs = ROOT / "docs"
    documents = {str(path.relative_to(docs)) for path in docs.rglob("*.md")} - {"README.md"}
    assert documents - set(re.findall(r"\]\(([\w/-]+\.md)\)", index)) == set()


def test_no_line_is_wider_than_an_editor_shows_beside_another() -> None:
    for document, text in texts():
        lines = enumerate(text.splitlines(), start=1)
        wide = [number for number, line in lines if len(line) > WIDTH and not line.startswith("|")]
        assert wide == [], document


def test_what_a_document_names_in_the_code_exists() -> None:
    for document, text in texts():
        assert [name for name in re.findall(DOTTED, text) if not is_found(name)] == [], document
        missing = [name for name in re.findall(FILES, text) if not is_a_file(name, document)]
        assert missing == [], document
    assert not is_a_file("chatsite/no_such_module.py", ROOT / "README.md"), "the check is blind"


def test_every_test_that_a_document_names_exists() -> None:
    named = r"`(tests/[\w/]+\.(?:py|js))(?:::([\w:]+))?`"
    for document, text in texts():
        for file, name in re.findall(named, text):
            source = (ROOT / file).read_text() if (ROOT / file).is_file() else ""
            parts = name.split("::") if name else []
            assert source, (document, file)
            assert all(f"class {part}" in source or f"def {part}(" in source for part in parts), (
                document,
                name,
            )


def test_every_command_that_a_document_names_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for document, text in texts():
        named = re.findall(r"^make ([\w-]+)|`make ([\w-]+)", text, flags=re.MULTILINE)
        assert {name for pair in named for name in pair if name} <= targets, document
        moved = MOVED_COMMANDS if document.name == "CHANGELOG.md" else set()
        assert set(re.findall(r"manage\.py (\w+)", text)) - moved <= set(get_commands()), document


def test_every_link_of_a_document_leads_somewhere() -> None:
    for document, text in texts():
        for file, heading in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", text):
            target = document.parent / file if file else document
            assert target.exists(), (document, file)
            if heading:
                headings = re.findall(r"^#+ (.+)$", target.read_text(), flags=re.MULTILINE)
                assert heading in {slug(one) for one in headings}, (document, heading)


def slug(heading: str) -> str:
    """The address that a Markdown page gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def rows(text: str) -> dict[str, list[str]]:
    """The tables' rows: the first cell's name in backticks, and the other cells."""
    lines = re.findall(r"^\| `([^`]+)` \| (.*) \|$", text, flags=re.MULTILINE)
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in lines}


def test_the_policies_are_all_explained_and_no_others() -> None:
    headings = re.findall(r"^## (\w+)$", POLICIES_DOCUMENT, flags=re.MULTILINE)
    assert [name for name in headings if name in POLICIES.names] == list(POLICIES.names)
    selectors = re.findall(r"^### Selector `(\w+)`$", POLICIES_DOCUMENT, flags=re.MULTILINE)
    assert selectors == list(POLICIES.selectors)


def test_every_model_server_has_its_row() -> None:
    explained = set(re.findall(r"^\| `llm\.([\w-]+)`", (ROOT / "docs/models.md").read_text(), re.M))
    assert set(SERVERS) - explained == set()


def test_every_setting_of_the_history_is_explained() -> None:
    named = set(re.findall(r"[A-Za-z_]+", POLICIES_DOCUMENT))
    assert set(ENVIRONMENT_NAMES) - named == set()
    assert {*URL_NAMES, *(row.template for row in HISTORY_ROWS.values())} - named == set()


def test_no_setting_is_explained_that_nobody_reads() -> None:
    variables = set(re.findall(r"\b[A-Z]+_[A-Z_]+[A-Z]\b", POLICIES_DOCUMENT))
    known = re.findall(r"^#? ?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE)
    assert variables - set(known) == set()
    assert set(re.findall(r"\bhistory[A-Z]\w*", POLICIES_DOCUMENT)) == {
        *URL_NAMES,
        *(row.template for row in HISTORY_ROWS.values()),
    }


def test_the_document_gives_the_built_in_values() -> None:
    every = resolve(environment={}, url={}, template={}).all
    settings = {name: every[name] for name in CONVERSATION_ROWS}
    documented = rows(POLICIES_DOCUMENT)
    shown = {name: f"{setting.value:g}" if isinstance(setting.value, float) else setting.value
             for name, setting in settings.items()}  # fmt: skip
    for name, value in shown.items():
        variable, built_in = documented[name][:2]
        assert variable == f"`CONVERSATION_{name.upper()}`"
        assert built_in.strip("`") == str(value).replace("True", "true").replace("False", "false")


def test_the_documented_commands_and_options_exist() -> None:
    folders = (ROOT / "chatsite").glob("*/management/commands")
    found = {path.stem: path.parts[-4] for one in folders for path in one.glob("[a-z]*.py")}
    commands = set(found) - {"serve", "runserver"}
    about_files = set(re.findall(r"manage\.py (\w+)", (ROOT / "docs/files.md").read_text()))
    channels = set(re.findall(r"manage\.py (\w+)", (ROOT / "docs/channels.md").read_text()))
    deployment = set(re.findall(r"manage\.py (\w+)", (ROOT / "docs/deployment.md").read_text()))
    commands -= about_files | channels | deployment
    assert about_files == {"check", "purge"}
    assert channels == {"serve", "talk_check", "mail_check"}
    assert deployment == {"check", "serve", "move_database"}
    assert set(re.findall(r"manage\.py (\w+)", POLICIES_DOCUMENT)) == commands
    for name in commands:
        command = load_command_class(f"chatsite.{found[name]}", name)
        require_documented_options(command, f"manage.py {name}")


def test_the_documented_commands_of_developers_and_their_options_exist() -> None:
    found = re.findall(r"^\| `python -m tests\.commands (\w+)", POLICIES_DOCUMENT, re.MULTILINE)
    assert {*found, "seed"} == set(DEVELOPERS_COMMANDS)
    for name in found:
        command = importlib.import_module(f"tests.commands.{name}").Command()
        require_documented_options(command, f"python -m tests.commands {name}")


def require_documented_options(command: BaseCommand, called: str) -> None:
    """The options in the command's row of the document are the command's."""
    parser = command.create_parser("manage.py", "command")
    options = {option for action in parser._actions for option in action.option_strings}
    row = next(line for line in POLICIES_DOCUMENT.splitlines() if line.startswith(f"| `{called}"))
    assert set(re.findall(r"--[a-z-]+", row)) - options == set()
