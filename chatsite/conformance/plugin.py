"""A pytest plugin: the properties of a history policy, each a test of somebody's own function.

    pytest -p chatsite.conformance.plugin --history-policy=package.module:function

`chatsite.conformance.trimmer` says what the function may look like.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis.strategies import SearchStrategy

from chatsite.conformance.cases import Case
from chatsite.conformance.drawn import plain_cases
from chatsite.conformance.seen import Subject
from chatsite.conformance.table import FUNCTION, PROPERTIES
from chatsite.conformance.trimmer import load
from chatsite.conformance.trying import Check, smallest

EXAMPLES = 500
INPUTS = ("valid", "any")


class Violated(Exception):
    """A property doesn't hold; the text is for whoever reads the report."""


class Holds(pytest.Item):
    """One property of one subject."""

    subject: Subject
    checks: tuple[Check, ...]
    drawn: SearchStrategy[Case]
    examples: int

    def runtest(self) -> None:
        broken = smallest(self.subject, self.checks, self.drawn, examples=self.examples)
        if broken is not None:
            raise Violated(f"{self.name}\n\nThe smallest example found:\n{broken.in_words()}")

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> str:
        if isinstance(excinfo.value, Violated):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[str, None, str]:
        return self.subject.name, None, self.name


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
        help="valid: conversations that any provider accepts (default); any: broken ones too",
    )
    group.addoption(
        "--history-examples",
        type=int,
        default=EXAMPLES,
        metavar="N",
        help=f"conversations drawn for each property (default {EXAMPLES})",
    )


def pytest_configure(config: pytest.Config) -> None:
    wanted = config.getoption("--history-policy")
    if wanted and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []  # only the properties, unless other tests were named


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    where = config.getoption("--history-policy")
    if not where:
        return
    try:
        subject = load(where)
    except (ValueError, ImportError, AttributeError) as error:
        raise pytest.UsageError(f"--history-policy={where}: {error}") from error
    drawn = plain_cases(broken=config.getoption("--history-input") == "any")
    for name, checks in bound_checks():
        item = Holds.from_parent(session, name=name)
        item.subject, item.checks, item.drawn = subject, checks, drawn
        item.examples = config.getoption("--history-examples")
        items.append(item)


def bound_checks() -> Iterator[tuple[str, tuple[Check, ...]]]:
    """The name of every property that binds a function, with its checks."""
    for number, bound in PROPERTIES.items():
        if FUNCTION not in bound.absent:
            yield f"{number}: {bound.sentence}", bound.checks


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.getoption("--history-policy"):
        terminalreporter.section("properties that don't bind")
        for number, bound in PROPERTIES.items():
            if FUNCTION in bound.absent:
                reason = bound.absent[FUNCTION]
                terminalreporter.write_line(f"{number}: {bound.sentence} ({reason})")
