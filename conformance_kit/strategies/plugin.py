"""A pytest plugin: the kit's own, with an agent's strategy as a further subject.

    pytest -p conformance_kit.strategies.plugin --history-strategy=agents/<slug>

The folder of a strategy is an agent's, with its template.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path

import pytest

from chatsite.agents.catalogue import Catalogue
from chatsite.agents.strategy.protocol import StrategyFailure, StrategyInput
from chatsite.agents.strategy.worker import StrategyResult, StrategyWorker
from chatsite.errors import ChatsiteError
from conformance_kit import pytest_plugin as kit_plugin
from conformance_kit.properties import PROPERTIES
from conformance_kit.pytest_plugin import SUITES, Suite, run_only_properties
from conformance_kit.strategies.cases import cases
from conformance_kit.strategies.subject import BOUND, NOT_ITS_OWN, StrategySubject, checks

OPEN = pytest.StashKey[ExitStack]()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.register(kit_plugin)
    parser.getgroup("history", "properties of a history policy").addoption(
        "--history-strategy",
        metavar="agents/<slug>",
        help="try the strategy.py in this folder of an agent",
    )


@pytest.hookimpl(trylast=True)  # After the kit's plugin has made the list of suites.
def pytest_configure(config: pytest.Config) -> None:
    config.stash[OPEN] = ExitStack()
    folder = config.getoption("--history-strategy")
    if folder:
        run_only_properties(config)
        try:
            config.stash[SUITES].append(suite_of_strategy(Path(folder), config.stash[OPEN]))
        except (ValueError, ChatsiteError) as error:
            raise pytest.UsageError(f"{folder}: {error}") from error


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[OPEN].close()


def suite_of_strategy(folder: Path, close: ExitStack) -> Suite:
    """The strategy runs in its worker, as on the server; `close` ends that."""
    catalogue = Catalogue(folder.parent)
    template, file = catalogue.get(folder.name), catalogue.strategy(folder.name)
    if file is None or file.fault:
        raise ValueError(file.fault if file else f"there is no {folder}/strategy.py")
    runner, worker = close.enter_context(asyncio.Runner()), StrategyWorker()
    close.callback(lambda: runner.run(worker.stop()))

    def run(given: StrategyInput) -> StrategyResult | StrategyFailure:
        return runner.run(worker.run(file, given))

    return Suite(
        subject=StrategySubject(file.shown, template, run=run, tried=lambda: None),
        checks=checks(),
        drawn=cases(),
        absent={
            f"{number}: {bound.sentence}": NOT_ITS_OWN
            for number, bound in PROPERTIES.items()
            if number not in BOUND
        },
    )
