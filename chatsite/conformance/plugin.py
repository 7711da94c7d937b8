"""A pytest plugin: the properties of a history policy, each a test of somebody's own.

    pytest -p chatsite.conformance.plugin --history-policy=package.module:function
    pytest -p chatsite.conformance.plugin --history-strategy=agents/<slug>

`chatsite.conformance.trimmer` says what the function may look like; the folder of a strategy is
an agent's, with its template.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis.strategies import SearchStrategy

from chatsite.agents.catalogue import Catalogue
from chatsite.agents.strategy.protocol import StrategyFailure, StrategyInput
from chatsite.agents.strategy.worker import StrategyResult, StrategyWorker
from chatsite.conformance import strategy
from chatsite.conformance.cases import Case
from chatsite.conformance.drawn import cases, plain_cases
from chatsite.conformance.seen import Subject
from chatsite.conformance.table import FUNCTION, PROPERTIES
from chatsite.conformance.trimmer import load
from chatsite.conformance.trying import Check, smallest
from chatsite.errors import ChatsiteError

INPUTS = ("valid", "any")
EXAMPLES = 200


@dataclass(frozen=True)
class Tried:
    """A subject, the checks by sentence, the cases, and why other properties don't bind."""

    subject: Subject
    checks: Mapping[str, tuple[Check, ...]]
    drawn: SearchStrategy[Case]
    absent: Mapping[str, str]


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


TRIED = pytest.StashKey[list[Tried]]()
OPEN = pytest.StashKey[ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("history", "properties of a history policy")
    group.addoption(
        "--history-policy",
        metavar="package.module:name",
        help="try this function, or adapter, with every property that binds it",
    )
    group.addoption(
        "--history-strategy",
        metavar="agents/<slug>",
        help="try the strategy.py in this folder of an agent",
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
    config.stash[OPEN], config.stash[TRIED] = ExitStack(), []
    asked = config.getoption("--history-policy") or config.getoption("--history-strategy")
    if asked and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []  # only the properties, unless other tests were named


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[OPEN].close()


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    where, folder = config.getoption("--history-policy"), config.getoption("--history-strategy")
    try:
        if where:
            config.stash[TRIED].append(of_function(where, config.getoption("--history-input")))
        if folder:
            config.stash[TRIED].append(of_strategy(Path(folder), config.stash[OPEN]))
    except (ValueError, ImportError, AttributeError, ChatsiteError) as error:
        raise pytest.UsageError(f"{where or folder}: {error}") from error
    for tried in config.stash[TRIED]:
        for sentence, checks in tried.checks.items():
            item = Holds.from_parent(session, name=f"{tried.subject.name}: {sentence}")
            item.subject, item.checks, item.drawn = tried.subject, checks, tried.drawn
            item.examples = config.getoption("--history-examples")
            items.append(item)


def of_function(where: str, inputs: str) -> Tried:
    return Tried(
        subject=load(where),
        checks={
            f"{number}: {bound.sentence}": bound.checks
            for number, bound in PROPERTIES.items()
            if FUNCTION not in bound.absent
        },
        drawn=plain_cases(broken=inputs == "any"),
        absent={
            f"{number}: {bound.sentence}": bound.absent[FUNCTION]
            for number, bound in PROPERTIES.items()
            if FUNCTION in bound.absent
        },
    )


def of_strategy(folder: Path, close: ExitStack) -> Tried:
    """It runs in its worker, as on the server; `close` ends that."""
    catalogue = Catalogue(folder.parent)
    template, file = catalogue.get(folder.name), catalogue.strategy(folder.name)
    if file is None or file.fault:
        raise ValueError(file.fault if file else f"there is no {folder}/strategy.py")
    runner, workers = close.enter_context(asyncio.Runner()), StrategyWorker()
    close.callback(lambda: runner.run(workers.stop()))

    def run(given: StrategyInput) -> StrategyResult | StrategyFailure:
        return runner.run(workers.run(file, given))

    return Tried(
        subject=strategy.Strategy(file.shown, template, run=run, tried=lambda: None),
        checks=strategy.checks(),
        drawn=cases(),
        absent={
            f"{number}: {bound.sentence}": strategy.NOT_ITS_OWN
            for number, bound in PROPERTIES.items()
            if number not in strategy.BOUND
        },
    )


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for tried in config.stash[TRIED]:
        terminalreporter.section(f"properties that don't bind {tried.subject.name}")
        for sentence, reason in tried.absent.items():
            terminalreporter.write_line(f"{sentence} ({reason})")
