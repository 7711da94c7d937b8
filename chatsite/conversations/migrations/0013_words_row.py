from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0012_index_tokens"),
    ]

    operations = [
        # Each message was written into it, and `message_path` finds user messages nearly as soon.
        migrations.RemoveIndex(model_name="message", name="message_path_role"),
        migrations.AddField(
            model_name="conversation",
            name="words_row",
            field=models.BigIntegerField(blank=True, null=True, serialize=False),
        ),
        migrations.AddField(
            model_name="message",
            name="words_row",
            field=models.BigIntegerField(blank=True, null=True, serialize=False),
        ),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("words_row", None)),
                fields=["created"],
                name="conversation_unsearched",
            ),
        ),
        migrations.AddIndex(
            model_name="message",
            index=models.Index(
                condition=models.Q(("words_row", None)),
                fields=["created", "seq"],
                name="message_unsearched",
            ),
        ),
        migrations.AddConstraint(
            model_name="conversation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("words_row__isnull", False)),
                fields=("words_row",),
                name="conversation_words",
            ),
        ),
        migrations.AddConstraint(
            model_name="message",
            constraint=models.UniqueConstraint(
                condition=models.Q(("words_row__isnull", False)),
                fields=("words_row",),
                name="message_words",
            ),
        ),
    ]
