from django.apps import AppConfig


class OwnAgentsConfig(AppConfig):
    name = "chatsite.own_agents"
    label = "own_agents"
