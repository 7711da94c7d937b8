"""The catalogues under locale/ have the texts of the code, and every request has a language."""

from __future__ import annotations

import ast
import gettext
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.utils import translation

from chatsite.asgi_types import Receive, Scope, Send
from chatsite.language import Languages, language_of, page_catalogue
from chatsite.wording import ENGLISH, TRANSLATE, Translator, say, say_count
from tests.pseudo_server import FIELD, unquoted
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


@pytest.mark.parametrize("accepted", ["", "en-GB,en;q=0.9", "nl-NL,nl;q=0.8", "*", "\x00;;q=x"])
def test_every_browser_gets_a_language_that_exists(accepted: str) -> None:
    assert language_of(accepted) == "en"


def test_english_costs_the_page_nothing() -> None:
    assert page_catalogue("en") == {}


def test_without_a_language_texts_are_english() -> None:
    assert say("{name} is typing", name="Ada") == "Ada is typing"
    assert say_count("{count} file", "{count} files", 1) == "1 file"
    assert say_count("{count} file", "{count} files", 1_200) == "1,200 files"


@pytest.mark.parametrize(
    ("language", "thousands", "share"),
    [
        ("en", "1,200", "12.5"),
        ("de", "1.200", "12,5"),
        ("fr", "1\u202f200", "12,5"),
        ("es", "1200", "12,5"),
    ],
)
def test_numbers_are_written_as_the_language_writes_them(
    language: str, thousands: str, share: str
) -> None:
    english = Translator(str, lambda one, many, count: one if count == 1 else many)
    token = TRANSLATE.set(english._replace(language=lambda: language))
    try:
        assert say("{count:,} of {share:.1f}", count=1200, share=12.5) == f"{thousands} of {share}"
        assert say_count("{count} file", "{count} files", 1200) == f"{thousands} files"
        assert say("version {name}", name="1.2,3") == "version 1.2,3", "a text is no number"
    finally:
        TRANSLATE.reset(token)


def test_texts_come_from_the_catalogue_of_the_context() -> None:
    token = TRANSLATE.set(Translator(str.upper, lambda one, many, count: many.upper()))
    try:
        assert say("kept") == "KEPT"
        assert say_count("a file", "files", 3) == "FILES"
    finally:
        TRANSLATE.reset(token)


COUNTED = re.compile(
    r"""(?:sayCount|say_count|not_sent)\([^"]{0,80}?"((?:[^"\\]|\\.)*)",\s*"((?:[^"\\]|\\.)*)\""""
)


def test_no_two_texts_for_several_have_the_same_text_for_one() -> None:
    """The catalogue knows a text by its singular: the other plural would be said in its place."""
    sources = [*(ROOT / "static/chat").rglob("*.js"), *(ROOT / "chatsite").rglob("*.py")]
    plurals: dict[str, set[str]] = {}
    for path in sources:
        for one, many in COUNTED.findall(path.read_text(encoding="utf-8")):
            plurals.setdefault(one, set()).add(many)
    assert len(plurals) > 40
    assert {one: many for one, many in plurals.items() if len(many) > 1} == {}


TRANSLATED = [
    (language, domain)
    for language, _ in settings.LANGUAGES
    if language != "en"
    for domain in ("django", "djangojs")
]
PLACE = re.compile(r"\{[^}]*\}|%\(\w+\)s|</?\w+>")


def entries(language: str, domain: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each entry's flags, its English texts and its translations."""
    file = ROOT / "locale" / language / "LC_MESSAGES" / f"{domain}.po"
    for entry in file.read_text(encoding="utf-8").split("\n\n")[1:]:
        flags = " ".join(line for line in entry.splitlines() if line.startswith("#"))
        found = FIELD.findall(entry)
        english = [unquoted(text) for name, text in found if name.startswith("msgid")]
        yield flags, english, [unquoted(text) for name, text in found if name.startswith("msgstr")]


@pytest.mark.parametrize(("language", "domain"), TRANSLATED)
def test_every_text_is_translated_with_its_values(language: str, domain: str) -> None:
    """What stays English: run `make words`, then write what it left empty or called fuzzy."""
    open_texts, lost = [], []
    for flags, english, translated in entries(language, domain):
        if "fuzzy" in flags or not all(translated):
            open_texts.append(english[0])
        for text, other in zip(english, translated, strict=True):
            if sorted(PLACE.findall(text)) != sorted(PLACE.findall(other)):
                lost.append((text, other))
    assert open_texts == []
    assert lost == []


@pytest.mark.parametrize(("language", "domain"), TRANSLATED)
def test_the_compiled_catalogue_is_that_of_the_translations(language: str, domain: str) -> None:
    """It fails after an edit of a catalogue: run `make words` and commit what that makes."""
    folder = ROOT / "locale" / language / "LC_MESSAGES"
    with (folder / f"{domain}.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for _, english, translated in entries(language, domain):
        if len(english) == 1:
            assert compiled.gettext(english[0]) == translated[0]
        else:
            forms = [compiled.ngettext(english[0], english[1], count) for count in (1, 2)]
            assert forms == translated


@pytest.mark.parametrize(
    ("cookie", "accepted", "spoken"),
    [("fr", "de", "fr"), ("", "es-MX,es;q=0.9,en;q=0.1", "es"), ("xx", "de-AT", "de")],
)
async def test_the_choice_in_the_page_comes_before_the_browsers(
    cookie: str, accepted: str, spoken: str
) -> None:
    heard: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        heard.append(TRANSLATE.get().language())

    headers = [(b"accept-language", accepted.encode())]
    headers += [(b"cookie", f"{settings.LANGUAGE_COOKIE_NAME}={cookie}".encode())]
    token = TRANSLATE.set(ENGLISH)
    try:
        await Languages(app)({"type": "http", "headers": headers}, receive_nothing, send_nothing)
    finally:
        TRANSLATE.reset(token)
        translation.activate("en")
    assert heard == [spoken]


async def receive_nothing() -> Any:
    raise AssertionError("nothing is read")


async def send_nothing(message: Any) -> None:
    raise AssertionError("nothing is sent")
