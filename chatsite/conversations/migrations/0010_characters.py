from django.db import migrations, models

# What `characters_of` counts, of every message; one pass over the texts.
COUNT = """
UPDATE conversations_conversation SET characters = COALESCE((
  SELECT SUM(COALESCE(LENGTH(content), 0) + COALESCE(LENGTH(reasoning), 0) + LENGTH(metadata))
  FROM conversations_message WHERE conversation_id = conversations_conversation.id), 0)
"""


class Migration(migrations.Migration):
    dependencies = [("conversations", "0009_search_index")]

    operations = [
        migrations.AddField(
            "conversation", "characters", models.PositiveBigIntegerField(default=0)
        ),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
    ]
