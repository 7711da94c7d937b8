from django.apps import AppConfig


class ConversationsConfig(AppConfig):
    name = "chatsite.conversations"
    label = "conversations"
    default_auto_field = "django.db.models.BigAutoField"
