"""Defines the table of the prompts that people keep for themselves."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

MAX_NAME, MAX_TEXT = 40, 8_000


class Prompt(models.Model):
    """Stores a text that its owner calls by its name. The owner is an account or a guest, as of a
    conversation."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE
    )
    guest = models.CharField(max_length=64, blank=True, default="")
    name = models.CharField(max_length=MAX_NAME)
    text = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "name"], name="prompt_of_user", condition=Q(user__isnull=False)
            ),
            models.UniqueConstraint(
                fields=["guest", "name"], name="prompt_of_guest", condition=Q(user=None)
            ),
        ]
