from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models.signals import post_delete, post_save, pre_save


class AccountsConfig(AppConfig):
    name = "chatsite.accounts"

    def ready(self) -> None:
        from django.contrib.admin.models import LogEntry
        from django.contrib.auth.models import User

        from chatsite.accounts import gate, guests

        user_logged_in.connect(guests.move_guest_conversations)
        user_logged_in.connect(gate.end_delays)
        user_logged_out.connect(guests.end_signed_out_sockets)
        user_logged_in.connect(gate.log_sign_in)
        user_logged_out.connect(gate.log_sign_out)
        user_login_failed.connect(gate.log_failed_sign_in)
        pre_save.connect(gate.log_account_change, sender=User)
        post_delete.connect(gate.log_account_deletion, sender=User)
        post_save.connect(gate.log_administration, sender=LogEntry)
