#!/usr/bin/env python
"""Django's command line for Chatsite. `serve` starts it."""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line

from chatsite.errors import BadSetting
from chatsite.startup import prepare_storage


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatsite.settings")
    try:
        prepare_storage()
        execute_from_command_line(sys.argv)
    except BadSetting as error:
        sys.exit(f"Chatsite can't start. {error.message}")


if __name__ == "__main__":
    main()
