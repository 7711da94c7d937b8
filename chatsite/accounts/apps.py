from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models.signals import post_delete, post_save, pre_save


class AccountsConfig(AppConfig):
    name = "chatsite.accounts"
    label = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.contrib.admin.models import LogEntry
        from django.contrib.auth.models import User

        from chatsite.accounts import gate, guest_signals, log

        user_logged_in.connect(guest_signals.move_guest_conversations)
        user_logged_in.connect(gate.end_delays)
        user_logged_out.connect(guest_signals.end_signed_out_sockets)
        user_logged_in.connect(log.signed_in)
        user_logged_out.connect(log.signed_out)
        user_login_failed.connect(log.sign_in_failed)
        pre_save.connect(log.account_changed, sender=User)
        post_delete.connect(log.account_deleted, sender=User)
        post_save.connect(log.administered, sender=LogEntry)
