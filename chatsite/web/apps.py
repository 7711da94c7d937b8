import sys
from pathlib import Path

from django.apps import AppConfig


def started_by_django() -> bool:
    """Whether this is `django-admin` or `python -m django`: they come without manage.py."""
    program = Path(sys.argv[0])
    return program.stem == "django-admin" or program.parts[-2:] == ("django", "__main__.py")


class WebConfig(AppConfig):
    name = "chatsite.web"

    def ready(self) -> None:
        from chatsite.checks import register_checks
        from chatsite.startup import prepare_storage

        if started_by_django():
            prepare_storage()
        register_checks()
