"""Defines the table of files that were uploaded in temporary chats."""

from __future__ import annotations

from django.db import models


class TemporaryFile(models.Model):
    """Says of an upload that it goes with the temporary chat `conversation`, also as long as it
    isn't sent: then the chat may have no row yet. `touched`: when a page was last seen there."""

    upload = models.OneToOneField(
        "conversations.Upload", on_delete=models.CASCADE, primary_key=True, related_name="temporary"
    )
    conversation = models.UUIDField(db_index=True)
    touched = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.upload_id} of {self.conversation}"
