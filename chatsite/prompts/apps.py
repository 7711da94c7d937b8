from django.apps import AppConfig


class PromptsConfig(AppConfig):
    name = "chatsite.prompts"

    def ready(self) -> None:
        from chatsite.conversations.signals import owner_leaves
        from chatsite.prompts.prompts import follow_owner

        owner_leaves.connect(follow_owner)
