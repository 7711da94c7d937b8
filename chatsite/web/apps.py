import sys
from pathlib import Path

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models.signals import post_delete, post_save, pre_save


def started_by_django() -> bool:
    """Whether this is `django-admin` or `python -m django`: they come without manage.py."""
    program = Path(sys.argv[0])
    return program.stem == "django-admin" or program.parts[-2:] == ("django", "__main__.py")


class WebConfig(AppConfig):
    name = "chatsite.web"
    label = "web"

    def ready(self) -> None:
        from django.contrib.admin.models import LogEntry
        from django.contrib.auth.models import User

        from chatsite.checks import register_checks
        from chatsite.startup import prepare_storage
        from chatsite.web.accounts import gate, guests, log

        if started_by_django():
            prepare_storage()
        register_checks()
        user_logged_in.connect(guests.move_guest_conversations)
        user_logged_in.connect(gate.end_delays)
        user_logged_out.connect(guests.end_signed_out_sockets)
        user_logged_in.connect(log.signed_in)
        user_logged_out.connect(log.signed_out)
        user_login_failed.connect(log.sign_in_failed)
        pre_save.connect(log.account_changed, sender=User)
        post_delete.connect(log.account_deleted, sender=User)
        post_save.connect(log.administered, sender=LogEntry)
