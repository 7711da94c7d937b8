"""Defines the table of guests. Accounts are Django's users."""

from __future__ import annotations

from django.db import models


class Guest(models.Model):
    """Stores when a guest last opened a page, to the day: guests may expire (`GUEST_DAYS`)."""

    key = models.CharField(max_length=64, primary_key=True)
    seen = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "conversations_guest"

    def __str__(self) -> str:
        """Leave the key out, which opens their conversations."""
        return f"guest seen {self.seen:%Y-%m-%d}"
