"""No words for people outside of the catalogues: in the page's modules and in templates."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.running import ROOT

CHAT = ROOT / "static" / "chat"
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SAID = re.compile(
    r"\{% blocktranslate.*?endblocktranslate %\}|\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<!--.*?-->",
    flags=re.DOTALL,
)
SPOKEN = re.compile(r'\b(?:aria-label|title|placeholder|alt)="([^"]*)"')
NAME = "Chatsite"


@pytest.mark.skipif(
    not (shutil.which("node") and (ROOT / "node_modules" / "acorn").is_dir()),
    reason="there is no node here, or its packages aren't installed",
)
def test_the_pages_modules_say_their_words_by_the_catalogue() -> None:
    modules = [str(path) for path in sorted(CHAT.rglob("*.js"))]
    done = subprocess.run(
        ["node", "scripts/stray_words.mjs", *modules], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout == "", done.stdout
    assert done.returncode == 0, done.stderr


def test_the_check_finds_words() -> None:
    """It would be blind otherwise, and nobody would notice."""
    assert stray("<p>Hello</p>") == ["Hello"]
    assert stray('<p title="Go away">{% translate "Hello" %}</p>') == ["Go away"]


def test_templates_say_their_words_by_the_catalogue() -> None:
    found = {template.name: stray(template.read_text()) for template in TEMPLATES}
    assert {name: words for name, words in found.items() if words} == {}


def stray(template: str) -> list[str]:
    """Texts with letters outside of tags, and in the attributes that people read or hear."""
    rest = SAID.sub("", template)
    texts = [*SPOKEN.findall(rest), *re.sub(r"<[^>]*>", "\n", rest).split("\n")]
    found = [text.strip() for text in texts if re.search(r"[A-Za-z]{2,}", text.replace(NAME, ""))]
    return [text for text in found if text]
