"""The built files that are committed are those of the sources."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.running import ROOT

BUNDLER = ROOT / "node_modules" / "esbuild"


@pytest.mark.skipif(
    not (shutil.which("node") and BUNDLER.is_dir()),
    reason="there is no node here, or `make build` has never installed the bundler",
)
def test_the_built_files_are_those_of_the_sources() -> None:
    """It fails after an edit of `static/chat`: run `make build` and commit what that makes."""
    done = subprocess.run(
        ["node", "scripts/build.mjs", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_no_style_looks_into_an_element() -> None:
    """Why not: `static/chat/style/base.css`."""
    styles = list((ROOT / "static" / "chat").rglob("*.css"))
    assert styles
    rules = {path.name: re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S) for path in styles}
    assert [name for name, text in rules.items() if ":has(" in text] == []
