"""The agents as a Django app. It has no models: agents are folders, not rows."""

from __future__ import annotations

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    name = "chatsite.agents"
    label = "agents"
    verbose_name = "Agents"
