import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """The table is there already: `conversations` made it."""

    dependencies = [
        ("conversations", "0024_tables_of_features"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="KvSession",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True,
                                primary_key=True,
                                serialize=False,
                                verbose_name="ID",
                            ),
                        ),
                        ("key", models.CharField(max_length=80, unique=True)),
                        ("fingerprint", models.TextField()),
                        ("ids", models.BinaryField()),
                        ("spans", models.JSONField()),
                        ("file", models.CharField(max_length=80, unique=True)),
                        ("size", models.PositiveBigIntegerField()),
                        ("digest", models.CharField(max_length=128)),
                        ("used", models.DateTimeField()),
                        ("created", models.DateTimeField()),
                        (
                            "conversation",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="kv_sessions",
                                to="conversations.conversation",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "conversations_kvsession",
                    },
                ),
            ]
        )
    ]
