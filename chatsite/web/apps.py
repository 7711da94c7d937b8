from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out


class WebConfig(AppConfig):
    name = "chatsite.web"
    label = "web"

    def ready(self) -> None:
        from chatsite.checks import register_checks
        from chatsite.web.accounts import keep_what_a_guest_wrote, leave_no_socket_behind

        register_checks()
        user_logged_in.connect(keep_what_a_guest_wrote)
        user_logged_out.connect(leave_no_socket_behind)
