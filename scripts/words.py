"""`make words`: writes the catalogues under locale/ from the code, and compiles the translations
(needs GNU gettext). A new text is empty there, a changed one `fuzzy`: both stay English until
somebody translates them, and a test says which."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import django
from django.core.management.commands.makemessages import Command as MakeMessages

KEYWORDS = ("say", "later", "say_count:1,2", "not_sent:2,3", "sayCount:1,2")
# Where no words for people are, or those of others.
IGNORED = (
    "tests",
    "conformance_kit",
    ".venv",
    "node_modules",
    "var",
    "docs",
    "scripts",
    "static/built",
    "static/vendor",
)


class Command(MakeMessages):
    help = "Write locale/*/LC_MESSAGES/django.po and djangojs.po from the texts in the code."
    xgettext_options = [*MakeMessages.xgettext_options, *(f"--keyword={one}" for one in KEYWORDS)]

    def add_arguments(self, parser: Any) -> None:
        """None: what is extracted doesn't depend on who does it."""

    def handle(self, *args: Any, **options: Any) -> None:
        given = {
            "locale": [],
            "exclude": [],
            "all": True,
            "extensions": [],
            "symlinks": False,
            "ignore_patterns": [*IGNORED, *(f"{name}/*" for name in IGNORED)],
            "use_default_ignore_patterns": True,
            "no_wrap": False,
            "no_location": True,
            "add_location": None,
            "no_obsolete": True,
            "keep_pot": False,
        }
        for domain in ("django", "djangojs"):
            super().handle(*args, **{**options, **given, "domain": domain})

    def write_po_file(self, potfile: str, locale: str) -> None:
        """Without the time of the extraction: the same texts give the same file."""
        super().write_po_file(potfile, locale)
        file = Path(potfile).parent / locale / "LC_MESSAGES" / f"{self.domain}.po"
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith('"POT-Creation-Date')]
        file.write_text("".join(kept), encoding="utf-8")
        if locale != "en":
            compiled = file.with_suffix(".mo")
            subprocess.run(["msgfmt", f"--output-file={compiled}", file], check=True)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatsite.settings")
    django.setup()
    Command().run_from_argv(["python -m", "scripts.words", *sys.argv[1:]])


if __name__ == "__main__":
    main()
