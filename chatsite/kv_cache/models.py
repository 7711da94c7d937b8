"""Defines the table of saved slots of the engine."""

from __future__ import annotations

from django.db import models


class KvSession(models.Model):
    """Stores one slot of the engine that was saved to a file: the fields of `books.Session`.

    `key` is the conversation's id, or names the beginning that an agent's conversations share;
    before it stands the machine that has the file, where several share the database.
    `ids` are the tokens in its cells, `spans` the messages that they belong to. It holds the whole
    text of the conversation, and is deleted when some of that text is changed or deleted.
    """

    key = models.CharField(max_length=80, unique=True)
    conversation = models.ForeignKey(
        "conversations.Conversation",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="kv_sessions",
    )
    fingerprint = models.TextField()
    ids = models.BinaryField()
    spans = models.JSONField()
    file = models.CharField(max_length=80, unique=True)
    size = models.PositiveBigIntegerField()
    digest = models.CharField(max_length=128)
    used = models.DateTimeField()
    created = models.DateTimeField()

    class Meta:
        db_table = "conversations_kvsession"

    def __str__(self) -> str:
        return f"{self.key} in {self.file}"
