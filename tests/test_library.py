"""An installed copy of the history, as docs/library.md uses it: without Django."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "library.md").read_text(), re.S)
NOTHING_ELSE = """
import sys
outside = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
assert outside <= {"chatsite", "__main__", "sitecustomize"}, outside
assert "/installed/" in sys.modules["chatsite"].__file__
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what `pip install` of the checkout installs."""
    folder = tmp_path_factory.mktemp("library") / "installed"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        + ["--no-build-isolation", "--no-index", "--target", folder, ROOT],
        check=True,
        timeout=120,
    )
    return folder


def run(installed: Path, code: str) -> subprocess.CompletedProcess[str]:
    """`-S`: without the packages of this interpreter."""
    return subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(installed)!r})\n{code}"],
        cwd=installed,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_examples_run_on_an_installed_copy_without_any_other_package(installed: Path) -> None:
    ran = run(installed, "\n".join(EXAMPLES) + NOTHING_ELSE)
    assert ran.returncode == 0, ran.stderr
    assert "Message 0 can't be restored" in ran.stdout
    assert "older than this exchange" in ran.stdout


def test_an_example_that_is_wrong_is_noticed(installed: Path) -> None:
    wrong = "\n".join(EXAMPLES).replace('["personality", "m7"]', '["m7"]')
    assert "AssertionError" in run(installed, wrong).stderr


def test_each_example_is_at_most_forty_lines() -> None:
    assert len(EXAMPLES) == 5
    assert all(len(example.splitlines()) <= 40 for example in EXAMPLES)
