from django.urls import path

from chatsite.own_agents import pages

urlpatterns = [
    path("agents", pages.agents, name="own-agents"),
    path("agents/form", pages.form, name="own-agent-form"),
    path("agents/check", pages.check, name="own-agent-check"),
    path("agents/<slug:slug>", pages.agent, name="own-agent"),
    path("agents/<slug:slug>/restore", pages.restore, name="own-agent-restore"),
    path("agents/<slug:slug>/version", pages.version, name="own-agent-version"),
    path("instructions", pages.instructions, name="own-instructions"),
]
