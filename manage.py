#!/usr/bin/env python
"""Django's command line for Chatsite. `serve` starts it."""

from __future__ import annotations

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatsite.settings")
    try:
        from django.core.management import execute_from_command_line
        from django.db import DatabaseError

        from chatsite.errors import BadSetting
        from chatsite.startup import prepare_storage
    except ModuleNotFoundError as error:
        sys.exit(
            f"Chatsite can't start. {sys.executable} has no package {error.name}. "
            "`make run` installs what is needed into .venv: .venv/bin/python manage.py serve"
        )
    try:
        prepare_storage()
        execute_from_command_line(sys.argv)
    except BadSetting as error:
        sys.exit(f"Chatsite can't start. {error.message}")
    except DatabaseError as error:
        if "--traceback" in sys.argv:
            raise
        sys.exit(
            f"The database in VAR_DIR can't be used as it is: {error}. "
            "`manage.py migrate` brings it up to date, and so does a start of the server."
        )


if __name__ == "__main__":
    main()
