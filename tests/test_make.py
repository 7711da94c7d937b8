"""What make offers, how the suite is run, and that nothing is skipped in CI."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shell import ROOT, SHELL, executable, run


class TestMakefile:
    def test_help_lists_every_target(self) -> None:
        text = (ROOT / "Makefile").read_text()
        targets = set(re.findall(r"^([a-z-]+):", text, flags=re.MULTILINE))
        answer = subprocess.run(
            ["make", "--no-print-directory", "help"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert set(re.findall(r"^  make ([a-z-]+) +\S", answer.stdout, re.MULTILINE)) == targets
        assert {"run", "dev", "quick", "test", "lint", "properties", "bench", "pictures"} < targets


class TestRunningTheSuite:
    """The real script, with a fake Python that records the calls and can fail the first ones."""

    def run_suite(
        self,
        folder: Path,
        *arguments: str,
        chromium: str = SHELL,
        postgres: str = SHELL,
        nginx: str = SHELL,
        ci: str = "",
        failing: int = 0,
    ) -> tuple[subprocess.CompletedProcess[str], list[str]]:
        calls = folder / "calls"
        fails = f'[ "$(wc -l <"$CALLS")" -gt {failing} ]'
        python = executable(
            folder / "python",
            f'#!/bin/sh\necho "[${{HYPOTHESIS_PROFILE-}}] $*" >>"$CALLS"\n{fails}\n',
        )
        executable(folder / "bin" / "node", "#!/bin/sh\n")
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        environment = {"PATH": path, "PY": str(python), "CALLS": str(calls)}
        environment |= {"CHROMIUM": chromium, "POSTGRES": postgres, "NGINX": nginx, "CI": ci}
        answer = run(ROOT / "scripts" / "test.sh", *arguments, environment=environment)
        return answer, calls.read_text().splitlines() if calls.exists() else []

    @pytest.mark.parametrize(
        ("arguments", "left_out", "examples"),
        [((), " and not thorough", ""), (("all",), "", "full")],
        ids=["make test", "make test-all"],
    )
    def test_each_test_is_in_one_step(
        self, tmp_path: Path, arguments: tuple[str, ...], left_out: str, examples: str
    ) -> None:
        answer, calls = self.run_suite(tmp_path, *arguments)
        assert answer.returncode == 0
        assert [call.rpartition(" -m ")[2] for call in calls] == [
            f"not browser and not engine{left_out}",
            "not sqlite and not thorough",
            f"not engine{left_out}",
            "engine",
        ]
        again = calls.pop(1)
        assert again.startswith("[normal] -m tests.postgres pytest"), "the same tests once more"
        assert {call.partition(" ")[0] for call in calls} == {f"[{examples}]"}

    def test_the_quick_run_needs_no_browser(self, tmp_path: Path) -> None:
        answer, calls = self.run_suite(tmp_path, "quick", chromium="/no/chromium")
        assert (answer.returncode, answer.stderr, len(calls)) == (0, "", 1)

    def test_a_plain_clone_loads_all_tests_and_may_leave_out_some(self, tmp_path: Path) -> None:
        answer, [call] = self.run_suite(tmp_path, "plain", chromium="/no/chromium", ci="true")
        assert (answer.returncode, answer.stderr) == (0, "")
        assert call.startswith("[quick]")
        assert "--ignore" not in call and "no_skips" not in call

    def test_what_fails_beside_others_runs_once_more_alone(self, tmp_path: Path) -> None:
        answer, calls = self.run_suite(tmp_path, failing=1)
        assert (answer.returncode, len(calls)) == (0, 5)
        assert "--last-failed" in calls[1] and calls[1].endswith(calls[0].partition(" -m not")[2])
        assert "depend on the machine's load" in answer.stderr

    def test_the_other_steps_run_after_a_failure_too_and_the_run_fails(
        self, tmp_path: Path
    ) -> None:
        answer, calls = self.run_suite(tmp_path, failing=2)
        assert (answer.returncode, len(calls)) == (1, 5)

    def test_in_ci_nothing_may_be_skipped(self, tmp_path: Path) -> None:
        _, calls = self.run_suite(tmp_path, ci="true")
        assert all("-p tests.no_skips" in call for call in calls)

    def test_a_missing_browser_is_reported_and_its_tests_are_left_out(self, tmp_path: Path) -> None:
        answer, calls = self.run_suite(tmp_path, chromium="/no/chromium")
        assert "need Chromium at /no/chromium" in answer.stderr
        assert calls[-1].endswith("-m engine and not browser")
        assert len(calls) == 3

    @pytest.mark.parametrize(
        "missing", [{"postgres": ""}, {"nginx": ""}], ids=["database", "proxy"]
    )
    def test_what_several_servers_miss_is_reported_and_their_tests_are_left_out(
        self, tmp_path: Path, missing: dict[str, str]
    ) -> None:
        answer, calls = self.run_suite(tmp_path, **missing)  # type: ignore[arg-type]
        package = "postgresql" if "postgres" in missing else "nginx"
        assert f"Debian: apt install {package}\n" in answer.stderr
        assert len(calls) == 3 and "--ignore=tests/cluster" in calls[0]

    @pytest.mark.parametrize(
        "missing", [{"chromium": "/no/chromium"}, {"postgres": ""}, {"nginx": ""}]
    )
    def test_in_ci_what_is_missing_ends_the_run(
        self, tmp_path: Path, missing: dict[str, str]
    ) -> None:
        answer, calls = self.run_suite(tmp_path, ci="true", **missing)  # type: ignore[arg-type]
        assert (answer.returncode, calls) == (1, [])


class TestNoSkips:
    """A run of pytest in an empty folder, with the plugin that CI loads."""

    def outcome(self, folder: Path, test: str) -> subprocess.CompletedProcess[str]:
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "test_one.py").write_text(test)
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "tests.no_skips"],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # plugins load slowly
            },
            capture_output=True,
            text=True,
            check=False,
        )

    @pytest.mark.slow
    def test_a_skipped_test_fails_the_run(self, tmp_path: Path) -> None:
        answer = self.outcome(
            tmp_path,
            "import pytest\ndef test_a(): pass\n@pytest.mark.skip\ndef test_b(): pass\n",
        )
        assert answer.returncode == 1
        assert "test_one.py::test_b" in answer.stdout

    @pytest.mark.slow
    def test_a_skipped_module_fails_the_run(self, tmp_path: Path) -> None:
        (tmp_path / "test_two.py").write_text("def test_a(): pass\n")
        answer = self.outcome(tmp_path, "import pytest\npytest.importorskip('no_such_module')\n")
        assert answer.returncode == 1

    @pytest.mark.slow
    def test_an_expected_failure_does_not_fail_the_run(self, tmp_path: Path) -> None:
        answer = self.outcome(
            tmp_path, "import pytest\n@pytest.mark.xfail\ndef test_a(): assert 0\n"
        )
        assert answer.returncode == 0
