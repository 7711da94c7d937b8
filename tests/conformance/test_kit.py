"""The conformance kit, used by the author of a trim function."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from conformance_kit.conversations import plain_cases
from conformance_kit.functions import load_function
from conformance_kit.properties import checks_of_function
from conformance_kit.search import Counterexample, rates, smallest

PLACE = "tests.conformance.trims"
EXAMPLES = 100


def counterexample(name: str, number: str, *, broken: bool = False) -> Counterexample | None:
    checks = checks_of_function()[number]
    cases = plain_cases(broken=broken)
    return smallest(load_function(f"{PLACE}:{name}"), checks, cases, examples=EXAMPLES)


@pytest.mark.parametrize("name", ["whole_turns", "Dictionaries"])
def test_a_good_function_holds_everything_that_binds_it(name: str) -> None:
    every = [check for checks in checks_of_function().values() for check in checks]
    found = smallest(load_function(f"{PLACE}:{name}"), every, plain_cases(), examples=EXAMPLES)
    assert found is None, found.describe()


def test_a_property_that_breaks_is_shown_with_the_smallest_conversation() -> None:
    found = counterexample("last_three", "P1")
    assert found is not None
    assert found.why == "a result without its call directly before it"
    assert len(found.case.entries) == 5, "a question, three calls at once and results"
    assert "sent: 3t" in found.describe()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number", "why"),
    [
        ("refuses_long_talks", "P5", "it refused what fits: TooLarge: too many messages"),
        ("eats_its_input", "P13", "it changed the list or the messages that it was given"),
        ("shortens", "P2", "not as it was stored"),
        ("shortens", "P5", "the message being asked is there 0 times"),
        ("adds_a_summary", "P22", "messages that were not given: made-up"),
        ("last_three", "P8", "are allowed"),
        ("last_three", "P7", "1 instructions were there, 0 are sent, or changed"),
    ],
)
def test_a_counterexample_says_in_a_sentence_what_is_wrong(
    name: str, number: str, why: str
) -> None:
    found = counterexample(name, number)
    assert found is not None and why in found.why


def test_a_function_whose_choice_varies_is_detected() -> None:
    found = counterexample("never_twice_the_same", "P13")
    assert found is not None


@pytest.mark.slow
def test_a_fault_on_broken_conversations_only_is_reported_separately() -> None:
    assert counterexample("whole_turns", "P1") is None
    found = counterexample("whole_turns", "P1", broken=True)
    assert found is not None and "result" in found.why


@pytest.mark.slow
def test_rates_count_the_cases_with_enough_room_separately() -> None:
    tally = rates(
        load_function(f"{PLACE}:last_three"), checks_of_function(), plain_cases(), examples=EXAMPLES
    )
    assert 0 < tally.roomy <= tally.cases == EXAMPLES
    assert 0 < tally.broken_roomy["P7"] <= tally.broken["P7"] <= tally.cases
    assert not tally.broken["P13"]


# ---- as a pytest plugin -------------------------------------------------------------------------
def run(*options: str) -> subprocess.CompletedProcess[str]:
    plugin = [
        "-p",
        "conformance_kit.strategies.plugin",
        "-p",
        "no:django",
        "-p",
        "no:cacheprovider",
    ]
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir=.", *plugin, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.slow
def test_pytest_runs_each_property_as_a_test_and_lists_those_that_dont_bind() -> None:
    done = run(f"--history-policy={PLACE}:last_three", "--history-examples=25", "-v")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "P9: messages keep their order, and none comes twice PASSED" in done.stdout
    assert "P3: after the instructions a user begins FAILED" in done.stdout
    assert "wrong: it begins with the role tool" in done.stdout
    assert "P11: the length counts user messages" in done.stdout.partition("don't bind")[2]
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize(
    ("where", "says"),
    [
        (PLACE, "is not of the form package.module:name"),
        (f"{PLACE}:nothing", "has no attribute 'nothing'"),
        (f"{PLACE}:not_callable", "neither a function nor an adapter"),
        ("no_such_package:trim", "No module named 'no_such_package'"),
    ],
)
def test_a_wrong_name_says_what_is_wrong(where: str, says: str) -> None:
    with pytest.raises((ValueError, ImportError, AttributeError), match=says):
        load_function(where)


@pytest.mark.slow
def test_a_folder_without_a_strategy_is_reported_before_anything_runs() -> None:
    done = run("--history-strategy=agents/demo")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "there is no agents/demo/strategy.py" in done.stderr


# ---- as a package of its own --------------------------------------------------------------------
KIT = Path(__file__).parents[2] / "conformance_kit"


@pytest.mark.parametrize("path", sorted(KIT.glob("*.py")), ids=lambda path: path.name)
def test_the_kit_imports_only_messages_from_chatsite(path: Path) -> None:
    own = ("conformance_kit", "chatsite.messages")
    assert "conformance_kit.strategies" not in path.read_text()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            package = name.split(".")[0]
            assert name.startswith(own) or package in {
                "hypothesis",
                "pytest",
                *sys.stdlib_module_names,
            }
