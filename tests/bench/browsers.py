"""What the benches in Chromium share: the browser, and the version that they compare with."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.bench.figures import Options
from tests.browser.conftest import ARGUMENTS, DISABLED_FEATURES
from tests.running import ROOT

# The last version whose page was served module by module.
BEFORE = "5db6669"


@contextmanager
def checkout_before(options: Options) -> Iterator[Path]:
    """The checkout that `--before` names, or one of `BEFORE` in a temporary folder."""
    if options.before is not None:
        yield options.before.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="chatsite-before-") as folder:
        root = Path(folder) / "before"
        subprocess.run(["git", "worktree", "add", "--detach", str(root), BEFORE],
                       cwd=ROOT, check=True, capture_output=True)  # fmt: skip
        try:
            yield root
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(root)],
                           cwd=ROOT, check=True, capture_output=True)  # fmt: skip


@contextmanager
def a_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
            args=[
                *ARGUMENTS,
                "--enable-precise-memory-info",
                "--js-flags=--expose-gc",
                f"--disable-features={','.join(DISABLED_FEATURES)}",
            ],
        )
        yield chromium
        chromium.close()
