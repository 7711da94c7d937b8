"""`make run` finds a Python, installs what changed, repairs what broke and says what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shell import ROOT, SHELL, executable, run

LOCKS = ("requirements.txt", "requirements-dev.txt", "requirements-engine.txt")


class TestFindingPython:
    """The Pythons here are scripts that print a version and the modules that are missing."""

    def python(self, path: Path, *, version: str, missing: str = "") -> Path:
        return executable(path, f"#!/bin/sh\necho '{version} {missing}'\n")

    def find(self, *folders: Path, python: str = "") -> subprocess.CompletedProcess[str]:
        path = ":".join(str(folder) for folder in folders)
        environment = {"PATH": path, "PYTHON": python}
        return run(ROOT / "scripts" / "find_python.sh", environment=environment)

    def test_it_takes_the_newest_that_fits(self, tmp_path: Path) -> None:
        self.python(tmp_path / "python3.11", version="3.11")
        newest = self.python(tmp_path / "python3.13", version="3.13")
        self.python(tmp_path / "python3", version="3.11")
        assert self.find(tmp_path).stdout.strip() == str(newest)

    def test_it_passes_over_one_that_does_not_run(self, tmp_path: Path) -> None:
        executable(tmp_path / "python3.14", "#!/bin/sh\nexit 127\n")
        works = self.python(tmp_path / "python3.12", version="3.12")
        assert self.find(tmp_path).stdout.strip() == str(works)

    def test_it_looks_for_the_same_name_further_along_the_path(self, tmp_path: Path) -> None:
        executable(tmp_path / "shims" / "python3.11", "#!/bin/sh\nexit 127\n")
        works = self.python(tmp_path / "usr bin" / "python3.11", version="3.11")
        found = self.find(tmp_path / "shims", tmp_path / "usr bin")
        assert found.stdout.strip() == str(works)

    def test_it_passes_over_versions_out_of_range(self, tmp_path: Path) -> None:
        self.python(tmp_path / "python3", version="3.15")
        works = self.python(tmp_path / "python", version="3.14")
        assert self.find(tmp_path).stdout.strip() == str(works)

    def test_a_named_python_is_taken_before_all_others(self, tmp_path: Path) -> None:
        self.python(tmp_path / "python3.13", version="3.13")
        named = self.python(tmp_path / "elsewhere" / "snake", version="3.11")
        assert self.find(tmp_path, python=str(named)).stdout.strip() == str(named)

    def test_a_named_python_that_does_not_fit_is_not_replaced(self, tmp_path: Path) -> None:
        self.python(tmp_path / "python3.13", version="3.13")
        named = self.python(tmp_path / "elsewhere" / "snake", version="3.9")
        answer = self.find(tmp_path, python=str(named))
        assert answer.returncode == 1
        assert f"Python 3.9 ({named})" in answer.stderr

    def test_a_named_python_that_does_not_exist_is_named_in_the_message(
        self, tmp_path: Path
    ) -> None:
        answer = self.find(tmp_path, python="python9")
        assert answer.returncode == 1
        assert "PYTHON=python9, which does not run" in answer.stderr

    def test_it_says_which_versions_it_found(self, tmp_path: Path) -> None:
        self.python(tmp_path / "python3", version="3.9")
        self.python(tmp_path / "python", version="2.7")
        answer = self.find(tmp_path)
        assert answer.returncode == 1
        assert answer.stdout == ""
        assert "needs Python 3.11, 3.12, 3.13 or 3.14" in answer.stderr
        assert "Python 3.9" in answer.stderr
        assert "Python 2.7" in answer.stderr

    def test_it_says_when_there_is_no_python(self, tmp_path: Path) -> None:
        answer = self.find(tmp_path)
        assert answer.returncode == 1
        assert "no Python at all" in answer.stderr

    def test_it_says_how_to_get_a_missing_venv_module(self, tmp_path: Path) -> None:
        self.python(tmp_path / "python3", version="3.11", missing="ensurepip")
        answer = self.find(tmp_path)
        assert answer.returncode == 1
        assert "ensurepip missing" in answer.stderr
        assert "apt install python3-venv" in answer.stderr

    def test_it_finds_one_on_this_machine_that_runs(self) -> None:
        real = Path(sys.executable).resolve()
        answer = self.find(real.parent)
        found = subprocess.run(
            [
                answer.stdout.strip(),
                "-c",
                "import venv, ensurepip, sys; print(sys.version_info[0])",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        assert found.stdout.strip() == "3"


NO_BUILD = "ERROR: No matching distribution found for xllamacpp==1.0\n"
NO_NETWORK = f"WARNING: Retrying after connection broken by 'NewConnectionError'\n{NO_BUILD}"

# Answers the finder, makes a "venv" that contains itself, and as pip records its arguments in
# `calls`; if there is a file `pip-fails`, pip fails and prints it.
FAKE_PYTHON = """#!/bin/sh
root='{root}'
case "$*" in
"--version") echo "Python 3.12.0" ;;
"-m venv --clear "*)
    rm -rf "$4"
    mkdir -p "$4/bin"
    cp "$0" "$4/bin/python"
    echo venv >>"$root/calls" ;;
"-m pip install "*)
    echo "$*" >>"$root/calls"
    if [ -f "$root/pip-fails" ]; then
        cat "$root/pip-fails" >&2
        exit 1
    fi ;;
"-c import pip") ;;
"-c "*) echo "3.12 " ;;
esac
"""


class TestInstalling:
    """The real script in an empty project, with a Python whose pip only records its arguments."""

    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        executable(tmp_path / "bin" / "python3", FAKE_PYTHON.format(root=tmp_path))
        shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
        for lock in LOCKS:
            (tmp_path / lock).write_text(f"# {lock}\n")
        (tmp_path / "calls").touch()
        return tmp_path

    def install(self, project: Path, *parts: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": f"{project / 'bin'}:{os.environ['PATH']}"}
        # The fake is the only candidate: a named Python would make the script compare paths.
        script = project / "scripts" / "install.sh"
        (project / "calls").write_text("")
        finder = project / "scripts" / "find_python.sh"
        finder.write_text(
            finder.read_text().replace("python3.14 python3.13 python3.12 python3.11 ", "")
        )
        return run(script, *parts, environment=environment)

    def calls(self, project: Path) -> list[str]:
        return (project / "calls").read_text().splitlines()

    def test_the_first_run_makes_the_venv_and_installs_with_hashes(self, project: Path) -> None:
        assert self.install(project, "app", "engine").returncode == 0
        venv, app, engine = self.calls(project)
        assert venv == "venv"
        assert "--require-hashes -r requirements.txt" in app
        assert "--require-hashes --no-deps --only-binary=:all: -r requirements-engine.txt" in engine

    def test_the_second_run_does_nothing(self, project: Path) -> None:
        self.install(project, "app", "dev", "engine")
        again = self.install(project, "app", "dev", "engine")
        assert (self.calls(project), again.stdout, again.stderr) == ([], "", "")

    def test_a_changed_lock_is_installed_again_and_no_other(self, project: Path) -> None:
        self.install(project, "app", "dev")
        (project / "requirements-dev.txt").write_text("# changed\n")
        self.install(project, "app", "dev")
        assert [call.split()[-1] for call in self.calls(project)] == ["requirements-dev.txt"]

    def test_an_interrupted_installation_is_made_again(self, project: Path) -> None:
        self.install(project, "app")
        # The number of a live process that installs nothing: this test's.
        (project / ".venv" / ".installing").write_text(str(os.getpid()))
        answer = self.install(project, "app")
        assert "interrupted" in answer.stdout
        assert [call.split()[-1] for call in self.calls(project)] == ["venv", "requirements.txt"]

    def test_a_half_made_venv_is_made_again(self, project: Path) -> None:
        self.install(project, "app")
        (project / ".venv" / ".python").unlink()
        assert self.install(project, "app").returncode == 0
        assert self.calls(project)[0] == "venv"

    def test_two_installations_at_once_are_refused(self, project: Path) -> None:
        self.install(project, "app")
        waits = executable(project / "other" / "install.sh", "read -r line\n")
        with subprocess.Popen([SHELL, str(waits)], stdin=subprocess.PIPE) as other:
            (project / ".venv" / ".installing").write_text(str(other.pid))
            answer = self.install(project, "app")
            other.communicate()
        assert answer.returncode == 1
        assert f"process {other.pid}" in answer.stderr

    def test_a_failed_installation_of_the_application_ends_the_start_and_is_tried_again(
        self, project: Path
    ) -> None:
        (project / "pip-fails").write_text(NO_BUILD)
        failed = self.install(project, "app", "engine")
        assert failed.returncode == 1
        assert NO_BUILD in failed.stderr
        (project / "pip-fails").unlink()
        assert self.install(project, "app").returncode == 0
        assert [call.split()[-1] for call in self.calls(project)] == ["requirements.txt"]

    def test_a_failed_engine_is_explained_and_the_start_continues(self, project: Path) -> None:
        self.install(project, "app")
        (project / "pip-fails").write_text(NO_BUILD)
        answer = self.install(project, "app", "engine")
        assert answer.returncode == 0
        assert "there is no build of xllamacpp==1.0 for this system" in answer.stderr

    def test_a_missing_network_is_not_taken_for_a_missing_build(self, project: Path) -> None:
        self.install(project, "app")
        (project / "pip-fails").write_text(NO_NETWORK)
        answer = self.install(project, "engine")
        assert "the package index could not be reached" in answer.stderr
        assert "no build" not in answer.stderr

    def test_a_failed_engine_is_not_tried_on_every_start(self, project: Path) -> None:
        self.install(project, "app")
        (project / "pip-fails").write_text(NO_BUILD)
        self.install(project, "app", "engine")
        again = self.install(project, "app", "engine")
        assert self.calls(project) == []
        assert "there is no build of xllamacpp==1.0" in again.stdout

    def test_a_failed_engine_is_tried_again_when_its_lock_changes(self, project: Path) -> None:
        self.install(project, "app")
        (project / "pip-fails").write_text(NO_BUILD)
        self.install(project, "engine")
        (project / "pip-fails").unlink()
        (project / "requirements-engine.txt").write_text("# changed\n")
        assert self.install(project, "engine").returncode == 0
        assert len(self.calls(project)) == 1

    def test_a_failed_engine_is_tried_again_when_asked(self, project: Path) -> None:
        (project / "pip-fails").write_text(NO_BUILD)
        self.install(project, "engine")
        assert self.install(project, "engine!").returncode == 1
        (project / "pip-fails").unlink()
        assert self.install(project, "engine!").returncode == 0
        assert self.install(project, "engine").stdout == ""
