"""Commands for developers, on the data of VAR_DIR: `.venv/bin/python -m tests.commands NAME`.

    seed              fills the database with conversations of every kind; `make seed`
    simulate_history  prints what stored conversations would have cost under other policies
    replay_receipt    builds the request of an answer again from its receipt

`NAME --help` says more.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import django

NAMES = ("seed", "simulate_history", "replay_receipt")


def main() -> None:
    """Run the command as manage.py runs its own."""
    _, *arguments = sys.argv
    if not arguments or arguments[0] not in NAMES:
        sys.exit(__doc__)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatsite.settings")
    django.setup()
    from chatsite.errors import BadSetting
    from chatsite.startup import prepare_storage

    try:
        prepare_storage()
    except BadSetting as error:
        sys.exit(error.message)
    command = import_module(f"tests.commands.{arguments[0]}").Command()
    command.run_from_argv(["python -m tests.commands", *arguments])


if __name__ == "__main__":
    main()
