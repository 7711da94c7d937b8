"""Empties the index of words, which the server fills again in pieces while it runs: SQLite leaves
out what was found where numbers are as far from each other as they were."""

from typing import Any

from django.db import migrations

WORDS = "conversations_words"
TABLES = ("conversations_message", "conversations_conversation")


def empty(apps: Any, schema_editor: Any) -> None:
    connection = schema_editor.connection
    if WORDS not in connection.introspection.table_names():
        return
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            # One by one, the triggers would take each word out. All are made again afterwards.
            for table in TABLES:
                cursor.execute(f"DROP TRIGGER IF EXISTS {table}_words_changed")
            cursor.execute(f"DROP TABLE {WORDS}")
        else:
            cursor.execute(f"TRUNCATE {WORDS}")
        for table in TABLES:
            cursor.execute(f"UPDATE {table} SET words_row = NULL WHERE words_row IS NOT NULL")


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0026_servers"),
    ]

    operations = [migrations.RunPython(empty, migrations.RunPython.noop, elidable=True)]
