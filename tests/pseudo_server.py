"""A server that speaks the pseudo-language: every text of the catalogues in ⟦brackets⟧.

As a module of settings (`DJANGO_SETTINGS_MODULE=tests.pseudo_server`) it is the only language of
a server, whose catalogues are then in PSEUDO_LOCALE.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from chatsite.settings import *  # noqa: F403
from tests.running import ROOT

CODE = "xx"
HEADER = (
    'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n'
    'Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n'
)
FIELD = re.compile(r'^(msgid_plural|msgid|msgstr(?:\[\d\])?) ((?:".*"\n?)+)', flags=re.MULTILINE)

LANGUAGES = [(CODE, "Brackets")]
LANGUAGE_CODE = CODE
LOCALE_PATHS = [Path(os.environ.get("PSEUDO_LOCALE", "."))]


def write_pseudo_catalogues(folder: Path) -> dict[str, str]:
    """Write the language's catalogues below `folder` (needs msgfmt); the environment of a server
    that speaks it."""
    target = folder / CODE / "LC_MESSAGES"
    target.mkdir(parents=True)
    for domain in ("django", "djangojs"):
        source = ROOT / "locale" / "en" / "LC_MESSAGES" / f"{domain}.po"
        written = target / f"{domain}.po"
        written.write_text(HEADER + "\n".join(map(_translated, _texts(source.read_text()))))
        subprocess.run(["msgfmt", "-o", written.with_suffix(".mo"), written], check=True)
    return {"DJANGO_SETTINGS_MODULE": __name__, "PSEUDO_LOCALE": str(folder)}


def _texts(catalogue: str) -> Iterator[list[str]]:
    """The texts of each entry: one, or the singular and the plural."""
    for entry in catalogue.split("\n\n")[1:]:
        found = [
            unquoted(lines) for name, lines in FIELD.findall(entry) if name.startswith("msgid")
        ]
        if found and found[0]:
            yield found


def unquoted(lines: str) -> str:
    return "".join(ast.literal_eval(line) for line in lines.strip().splitlines())


def _translated(texts: list[str]) -> str:
    quoted = [json.dumps(text, ensure_ascii=False) for text in texts]
    forms = [json.dumps(_in_brackets(text), ensure_ascii=False) for text in texts]
    if len(texts) == 1:
        return f"\nmsgid {quoted[0]}\nmsgstr {forms[0]}\n"
    plural = "".join(f"msgstr[{n}] {form}\n" for n, form in enumerate(forms))
    return f"\nmsgid {quoted[0]}\nmsgid_plural {quoted[1]}\n{plural}"


def _in_brackets(text: str) -> str:
    """msgfmt refuses a translation that ends otherwise with the line."""
    ending = text[len(text.rstrip("\n")) :]
    return f"⟦{text.removesuffix(ending)}⟧{ending}"


def outside(text: str) -> str:
    """What of a text isn't within brackets, which may stand in each other."""
    depth, found = 0, []
    for sign in text:
        depth = max(0, depth + (sign == "⟦") - (sign == "⟧"))
        if depth == 0 and sign != "⟧":
            found.append(sign)
    return "".join(found)
