from django.apps import AppConfig


class TalkConfig(AppConfig):
    name = "chatsite.talk"
    label = "talk"
