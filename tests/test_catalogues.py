"""The catalogues under locale/ have the texts of the code, and every request has a language."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chatsite.language import language_of, page_catalogue
from chatsite.wording import TRANSLATE, Translator, say, say_count
from tests.running import ROOT

CATALOGUES = Path("locale/en/LC_MESSAGES")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("xgettext"), reason="there is no GNU gettext here")
def test_the_catalogues_have_the_texts_of_the_code(tmp_path: Path) -> None:
    """It fails after a new text: run `make words` and commit what that makes."""
    for folder in ("chatsite", "templates", "static/chat", "locale"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    subprocess.run(
        [sys.executable, "-P", "-m", "scripts.words"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
    )
    for name in ("django.po", "djangojs.po"):
        made = (tmp_path / CATALOGUES / name).read_text()
        assert (ROOT / CATALOGUES / name).read_text() == made, f"{name}: run `make words`"


def test_no_text_stands_inside_an_f_string() -> None:
    """`make words` doesn't find it there: it would stay English in every language."""
    inside = {
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in (ROOT / "chatsite").rglob("*.py")
        for text in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(text, ast.JoinedStr)
        for call in ast.walk(text)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in {"say", "say_count", "later"}
        and isinstance(call.args[0], ast.Constant)
    }
    assert inside == set()


@pytest.mark.parametrize("accepted", ["", "en-GB,en;q=0.9", "de-DE,de;q=0.8", "*", "\x00;;q=x"])
def test_every_browser_gets_a_language_that_exists(accepted: str) -> None:
    assert language_of(accepted) == "en"


def test_english_costs_the_page_nothing() -> None:
    assert page_catalogue("en") == {}


def test_without_a_language_texts_are_english() -> None:
    assert say("{name} is typing", name="Ada") == "Ada is typing"
    assert say_count("{count} file", "{count} files", 1) == "1 file"
    assert say_count("{count} file", "{count} files", 1_200) == "1,200 files"


def test_texts_come_from_the_catalogue_of_the_context() -> None:
    token = TRANSLATE.set(Translator(str.upper, lambda one, many, count: many.upper()))
    try:
        assert say("kept") == "KEPT"
        assert say_count("a file", "files", 3) == "FILES"
    finally:
        TRANSLATE.reset(token)
