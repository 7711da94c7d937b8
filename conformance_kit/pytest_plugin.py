"""A pytest plugin: each property of a history policy is a test of somebody's own function.

    pytest -p conformance_kit.pytest_plugin --history-policy=package.module:function

`conformance_kit.functions` says what the function may look like. Another plugin may add
subjects of its own to the stash, under `SUITES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis.strategies import SearchStrategy

from conformance_kit.conversations import plain_cases
from conformance_kit.functions import load_function
from conformance_kit.properties import PROPERTIES
from conformance_kit.search import Check, smallest
from conformance_kit.trials import Subject

INPUTS = ("valid", "any")
EXAMPLES = 200


@dataclass(frozen=True)
class Suite:
    """A subject, the checks by sentence, the cases, and why other properties don't bind."""

    subject: Subject
    checks: Mapping[str, tuple[Check, ...]]
    drawn: SearchStrategy[Any]
    absent: Mapping[str, str]


class Violated(Exception):
    """A property doesn't hold; the text is for whoever reads the report."""


class PropertyTest(pytest.Item):
    """One property of one subject."""

    subject: Subject
    checks: tuple[Check, ...]
    drawn: SearchStrategy[Any]
    examples: int

    def runtest(self) -> None:
        found = smallest(self.subject, self.checks, self.drawn, examples=self.examples)
        if found is not None:
            raise Violated(f"{self.name}\n\nThe smallest example found:\n{found.describe()}")

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> str:
        if isinstance(excinfo.value, Violated):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[str, None, str]:
        return self.subject.name, None, self.name


SUITES = pytest.StashKey[list[Suite]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("history", "properties of a history policy")
    group.addoption(
        "--history-policy",
        metavar="package.module:name",
        help="try this function, or adapter, with every property that binds it",
    )
    group.addoption(
        "--history-input",
        choices=INPUTS,
        default="valid",
        help="to a function; valid: what any provider accepts (default), any: broken ones too",
    )
    group.addoption(
        "--history-examples",
        type=int,
        default=EXAMPLES,
        metavar="N",
        help=f"conversations drawn for each property (default {EXAMPLES})",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[SUITES] = []
    where = config.getoption("--history-policy")
    if where:
        run_only_properties(config)
        try:
            config.stash[SUITES].append(
                suite_of_function(where, config.getoption("--history-input"))
            )
        except (ValueError, ImportError, AttributeError) as error:
            raise pytest.UsageError(f"{where}: {error}") from error


def run_only_properties(config: pytest.Config) -> None:
    """Collect no other tests, unless some were named."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    for suite in config.stash[SUITES]:
        for sentence, checks in suite.checks.items():
            item = PropertyTest.from_parent(session, name=f"{suite.subject.name}: {sentence}")
            item.subject, item.checks, item.drawn = suite.subject, checks, suite.drawn
            item.examples = config.getoption("--history-examples")
            items.append(item)


def suite_of_function(where: str, inputs: str) -> Suite:
    sentences = {number: f"{number}: {bound.sentence}" for number, bound in PROPERTIES.items()}
    return Suite(
        subject=load_function(where),
        checks={
            sentences[number]: bound.checks
            for number, bound in PROPERTIES.items()
            if not bound.unbound
        },
        drawn=plain_cases(broken=inputs == "any"),
        absent={
            sentences[number]: bound.unbound
            for number, bound in PROPERTIES.items()
            if bound.unbound
        },
    )


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for suite in config.stash[SUITES]:
        terminalreporter.section(f"properties that don't bind {suite.subject.name}")
        for sentence, reason in suite.absent.items():
            terminalreporter.write_line(f"{sentence} ({reason})")
