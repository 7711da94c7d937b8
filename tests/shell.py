"""Runs the set-up scripts with programs that a test provides."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHELL = shutil.which("sh") or "/bin/sh"


def run(
    script: Path, *arguments: str, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SHELL, str(script), *arguments],
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path
