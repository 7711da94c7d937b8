import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0008_importing"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="text_changes",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.CreateModel(
            name="SearchIndexPart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("first", models.PositiveIntegerField()),
                ("end", models.PositiveIntegerField()),
                ("messages", models.PositiveIntegerField()),
                ("data", models.BinaryField()),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="search_index",
                        to="conversations.conversation",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("conversation", "first"), name="index_part_once"
                    )
                ],
            },
        ),
    ]
