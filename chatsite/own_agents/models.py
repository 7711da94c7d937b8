"""The tables of agents that people make in the page, and of their own instructions."""

from __future__ import annotations

import secrets
import string

from django.conf import settings
from django.db import models
from django.db.models import Q

from chatsite.agents.template import OWN_PREFIX

_LETTERS = string.ascii_lowercase + string.digits


def new_slug() -> str:
    """A slug that nobody guesses: 36 to the 12th power are 62 bits."""
    return OWN_PREFIX + "".join(secrets.choice(_LETTERS) for _ in range(12))


class Owned(models.Model):
    """A row of one owner, as conversations have them. `changed` is the database's time, by which
    every server finds what another one changed."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    guest = models.CharField(max_length=64, blank=True, default="", db_index=True)
    changed = models.DateTimeField(db_index=True)

    class Meta:
        abstract = True


ONE_OWNER = Q(user__isnull=False, guest="") | Q(user__isnull=True) & ~Q(guest="")


class OwnAgent(Owned):
    """An agent of one owner. `number` is that of its newest version, which applies; `shared`:
    everybody may use it. Its slug stays the same for ever: conversations name it."""

    slug = models.CharField(max_length=64, unique=True, default=new_slug)
    number = models.PositiveIntegerField(default=0)
    shared = models.BooleanField(default=False)
    deleted = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(name="own_agent_has_one_owner", condition=ONE_OWNER),
        ]


class OwnAgentVersion(models.Model):
    """One version of an agent; `template` is the document that a `template.json` would hold."""

    agent = models.ForeignKey(OwnAgent, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    created = models.DateTimeField()
    template = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "number"], name="own_agent_version_once"),
        ]


class OwnInstructions(Owned):
    """What an owner tells every agent; `on`: it is sent."""

    text = models.CharField(max_length=4_000, blank=True, default="")
    on = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.CheckConstraint(name="own_instructions_have_one_owner", condition=ONE_OWNER),
            models.UniqueConstraint(fields=["user", "guest"], name="own_instructions_once"),
        ]
