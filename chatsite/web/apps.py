from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out


class WebConfig(AppConfig):
    name = "chatsite.web"
    label = "web"

    def ready(self) -> None:
        from chatsite.checks import register_checks
        from chatsite.web.accounts import end_signed_out_sockets, move_guest_conversations

        register_checks()
        user_logged_in.connect(move_guest_conversations)
        user_logged_out.connect(end_signed_out_sockets)
