from django.db import migrations, models

# A conversation with roots off its path was cleared: all before its path, or all of it.
CLEARED = """
UPDATE conversations_conversation SET cleared = COALESCE((
  SELECT MIN(seq) FROM conversations_message
  WHERE conversation_id = conversations_conversation.id AND on_path), next_seq)
WHERE EXISTS (SELECT 1 FROM conversations_message
  WHERE conversation_id = conversations_conversation.id AND parent_id IS NULL AND NOT on_path)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0013_words_row"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="cleared",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="conversation",
            name="hidden",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="message",
            name="deleted",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="message",
            name="edited",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="message",
            name="forgot_above",
            field=models.BooleanField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="turn",
            name="replaced",
            field=models.UUIDField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("parent__isnull", True)),
                fields=["conversation"],
                name="message_root",
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("deleted__isnull", False)),
                fields=["conversation", "deleted"],
                name="message_deleted",
            ),
        ),
        migrations.RunSQL(CLEARED, migrations.RunSQL.noop),
    ]
