from django.apps import AppConfig


class MailConfig(AppConfig):
    name = "chatsite.mail"
    label = "mail"
