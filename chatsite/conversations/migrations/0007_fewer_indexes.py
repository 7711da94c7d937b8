"""Drops two indexes that others begin with: every message and turn was written into both."""

from django.db import migrations, models

MESSAGES = ("conversations_message_conversation_id_f1a2d5e9", "conversations_message")
TURNS = ("conversations_turn_conversation_id_5017480b", "conversations_turn")


def dropped(index: str, table: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"DROP INDEX IF EXISTS {index}",
        f"CREATE INDEX IF NOT EXISTS {index} ON {table} (conversation_id)",
    )


class Migration(migrations.Migration):
    dependencies = [("conversations", "0006_quoted")]

    operations = [
        # In SQL: Django would copy SQLite's whole table to change a column's index.
        migrations.SeparateDatabaseAndState(
            database_operations=[dropped(*MESSAGES), dropped(*TURNS)],
            state_operations=[
                migrations.AlterField(
                    "message",
                    "conversation",
                    models.ForeignKey(
                        "conversations.conversation",
                        db_index=False,
                        on_delete=models.deletion.CASCADE,
                        related_name="tree",
                    ),
                ),
                migrations.AlterField(
                    "turn",
                    "conversation",
                    models.ForeignKey(
                        "conversations.conversation",
                        db_index=False,
                        on_delete=models.deletion.CASCADE,
                        related_name="all_turns",
                    ),
                ),
            ],
        )
    ]
