from __future__ import annotations

from typing import Any

from django.db import migrations

MOVED = {
    "accounts": ("guest",),
    "kv_cache": ("kvsession",),
    "mail": ("mail", "mailaddress", "mailbox"),
    "talk": ("talkmessage", "talkroom"),
}


def move_rights(apps: Any, schema_editor: Any) -> None:
    """Rights in the administration belong to a content type: it goes with its table."""
    content_types = apps.get_model("contenttypes", "ContentType").objects
    for app, models in MOVED.items():
        content_types.filter(app_label="conversations", model__in=models).update(app_label=app)


def return_rights(apps: Any, schema_editor: Any) -> None:
    content_types = apps.get_model("contenttypes", "ContentType").objects
    for app, models in MOVED.items():
        content_types.filter(app_label=app, model__in=models).update(app_label="conversations")


class Migration(migrations.Migration):
    """The tables stay as they are, under their names; from here on each belongs to its feature."""

    dependencies = [
        ("contenttypes", "0002_remove_content_type_name"),
        ("conversations", "0023_server_clock"),
    ]

    operations = [
        migrations.RunPython(move_rights, return_rights),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel("Guest"),
                migrations.DeleteModel("KvSession"),
                migrations.DeleteModel("Mail"),
                migrations.DeleteModel("MailAddress"),
                migrations.DeleteModel("Mailbox"),
                migrations.DeleteModel("TalkMessage"),
                migrations.DeleteModel("TalkRoom"),
            ]
        ),
    ]
