from django.apps import AppConfig


class OwnAgentsConfig(AppConfig):
    name = "chatsite.own_agents"

    def ready(self) -> None:
        from chatsite.conversations.signals import owner_leaves
        from chatsite.own_agents.queries import follow_owner

        owner_leaves.connect(follow_owner)
