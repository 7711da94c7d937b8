"""A feature is one folder: without the folder and its lines the program runs as before."""

from __future__ import annotations

import re
import shutil
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.person import Person
from tests.running import ROOT, Server

COPIED = ("agents", "chatsite", "locale", "static", "templates", "manage.py")
# Where a feature has its lines, besides its folder.
PLACES = ("settings.py", "urls.py", "wiring/features.py")


def take_out(feature: str, copy: Path) -> None:
    """A copy of the program without the feature."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, copy / name)
    shutil.rmtree(copy / "chatsite" / feature)
    its_line = re.compile(rf"chatsite\.{feature}\b|\b{feature.title()}Feature\b")
    for place in PLACES:
        path = copy / "chatsite" / place
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not its_line.search(line)))


def status_of(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.slow
@pytest.mark.parametrize("feature", ["mail", pytest.param("talk", marks=pytest.mark.thorough)])
async def test_a_feature_goes_with_its_folder_and_its_lines(tmp_path: Path, feature: str) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    take_out(feature, copy)
    left = [
        str(path)
        for path in (copy / "chatsite").rglob("*.py")
        if re.search(rf"\bchatsite\.{feature}\b", path.read_text())
    ]
    assert not left
    with Server(tmp_path / "var", root=copy) as server:
        async with Person(server.url) as ada:
            page = await ada.page()
            ended = await page.say("Is anybody there?")
        assert "Is anybody there?" in ended["message"]["content"]
        assert status_of(f"{server.url}/accounts/") == 200
    assert "Traceback" not in server.log
