"""`manage.py check_strategy`: a good strategy, and what bad ones break."""

from __future__ import annotations

import builtins
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from pytest_django import Settings

from chatsite.agents.strategy.worker import StrategyWorker
from chatsite.web.management.commands import check_strategy
from tests.story.agents import write_agent


@pytest.fixture
def agents(tmp_path: Path, settings: Settings) -> Path:
    settings.AGENTS_DIR = tmp_path
    write_agent(tmp_path, "ada", {"historyPolicy": "strategy"})
    return tmp_path


def check(slug: str = "ada", *, examples: int = 15) -> tuple[str, str]:
    """The command's output, and the error it ends with ("" for none)."""
    printed, error = StringIO(), ""
    try:
        call_command("check_strategy", slug, examples=examples, stdout=printed, no_color=True)
    except CommandError as found:
        error = str(found)
    return printed.getvalue(), error


def write(agents: Path, *lines: str) -> None:
    (agents / "ada" / "strategy.py").write_text("\n".join(lines) + "\n")


@pytest.mark.slow
def test_the_shipped_example_keeps_everything() -> None:
    printed, error = check("keeper", examples=20)
    assert not error
    assert printed.count("  holds: ") == 11 and "BROKEN" not in printed
    assert printed.endswith("keeper/strategy.py keeps all of them.\n")


@pytest.mark.slow
def test_a_strategy_that_raises_is_shown_with_its_line_and_the_smallest_conversation(
    agents: Path,
) -> None:
    write(
        agents,
        "def build(ctx):",
        "    for message in ctx.history.recent(99):",
        "        if message.role == 'tool':",
        "            raise LookupError('no tools here')",
    )
    printed, error = check(examples=100)
    assert error == "ada/strategy.py breaks 1 of the properties above."
    assert "ada/strategy.py, line 4: LookupError" in printed
    assert "LookupError: no tools here" in printed  # all of it, on the administrator's screen
    (path,) = [line for line in printed.splitlines() if "path: " in line]
    # The shrunk example is short: a question, tool rounds of one call, and the current question.
    assert len(path.split()) <= 8
    assert "holds" not in printed


@pytest.mark.slow
def test_a_strategy_that_chooses_at_random_is_found(agents: Path) -> None:
    write(
        agents,
        "import random",
        "def build(ctx):",
        "    ctx.slots.add('any', str(random.random()))",
    )
    printed, error = check()
    assert "breaks 1 of the properties" in error
    assert "BROKEN: it chooses the same again for the same conversation" in printed
    assert "another choice the second time, for the same conversation" in printed


@pytest.mark.slow
def test_a_strategy_that_never_ends_is_ended_only_a_few_times(
    agents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_strategy, "StrategyWorker", partial(StrategyWorker, seconds=0.1))
    write(agents, "def build(ctx):", "    while ctx.history.last_assistant(): pass")
    printed, error = check(examples=50)
    assert "breaks 1 of the properties" in error
    assert "BROKEN: it runs, within its time limit" in printed
    assert "it took longer than 0.1 seconds and was ended" in printed


@pytest.mark.parametrize(
    ("slug", "words"),
    [
        ("bob", "no agent of that name"),
        ("ada", "ada/strategy.py: there is no such file."),
    ],
)
def test_the_command_says_why_a_strategy_can_not_be_checked(
    agents: Path, slug: str, words: str
) -> None:
    assert words in check(slug)[1]


def test_a_file_that_is_no_python_is_reported(agents: Path) -> None:
    write(agents, "def build(ctx:")
    assert "ada/strategy.py, line 1: it isn't valid Python" in check()[1]


def test_a_wrong_number_of_examples_is_refused(agents: Path) -> None:
    assert check(examples=0)[1] == "--examples 0: must be at least 1."


def test_without_hypothesis_the_command_says_how_to_install_it(
    agents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = builtins.__import__

    def without(name: str, *more: Any, **other: Any) -> Any:
        if name == "conformance_kit.strategies.subject":
            raise ImportError("No module named 'hypothesis'", name="hypothesis")
        return really(name, *more, **other)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "pip install -r requirements-dev.txt" in check()[1]
