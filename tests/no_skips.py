"""A pytest plugin for CI: a skipped test fails the run, since no other run would execute it.

Loaded with `-p tests.no_skips`. An expected failure is not a skip.
"""

from __future__ import annotations

import pytest


class NoSkips:
    """Collects skipped tests and fails a run that would otherwise pass."""

    def __init__(self) -> None:
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skipped.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.skipped.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.skipped:
            terminalreporter.section("skipped, which fails this run")
            for nodeid in self.skipped:
                terminalreporter.line(nodeid)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(NoSkips(), "no-skips")
