from __future__ import annotations

from typing import Any

from django.db import migrations, models
from django.db.models import Q

FIELDS: dict[str, models.Field[Any, Any]] = {
    "pinned": models.DateTimeField(blank=True, null=True),
    "archived": models.DateTimeField(blank=True, null=True),
    "folder": models.CharField(blank=True, max_length=60, null=True),
    "titled": models.CharField(blank=True, max_length=8, null=True),
    "temporary": models.BooleanField(blank=True, null=True),
    "tuning": models.JSONField(blank=True, null=True),
}


class Migration(migrations.Migration):
    dependencies = [("conversations", "0033_anchors")]
    operations = [
        *(migrations.AddField("conversation", name, field) for name, field in FIELDS.items()),
        migrations.AddIndex(
            "conversation",
            models.Index(
                fields=["user", "guest"],
                name="conversation_pinned",
                condition=Q(pinned__isnull=False),
            ),
        ),
        migrations.AddIndex(
            "conversation",
            models.Index(
                fields=["updated"], name="conversation_temporary", condition=Q(temporary=True)
            ),
        ),
    ]
