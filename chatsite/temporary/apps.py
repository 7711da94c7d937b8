from django.apps import AppConfig


class TemporaryConfig(AppConfig):
    name = "chatsite.temporary"
    label = "temporary"
