import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """The tables are there already: `conversations` made them."""

    dependencies = [
        ("conversations", "0024_tables_of_features"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="TalkRoom",
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
                        ("server", models.CharField(max_length=500)),
                        ("token", models.CharField(max_length=64)),
                        ("conversation", models.UUIDField()),
                        ("last_known", models.PositiveBigIntegerField(blank=True, null=True)),
                        ("to_clear", models.BooleanField(default=False)),
                        ("names", models.JSONField(blank=True, default=dict)),
                        (
                            "account",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="talk_rooms",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "db_table": "conversations_talkroom",
                    },
                ),
                migrations.CreateModel(
                    name="TalkMessage",
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
                        ("number", models.PositiveBigIntegerField()),
                        ("actor", models.CharField(max_length=200)),
                        ("name", models.CharField(max_length=200)),
                        ("kind", models.CharField(max_length=8)),
                        ("text", models.TextField(blank=True)),
                        ("sent", models.PositiveBigIntegerField(default=0)),
                        ("edited", models.PositiveBigIntegerField(default=0)),
                        ("reference", models.CharField(blank=True, default="", max_length=64)),
                        ("parent", models.PositiveBigIntegerField(default=0)),
                        (
                            "parent_reference",
                            models.CharField(blank=True, default="", max_length=64),
                        ),
                        ("files", models.JSONField(blank=True, default=list)),
                        ("addressed", models.BooleanField(default=False)),
                        ("state", models.CharField(default="finished", max_length=8)),
                        ("stored", models.UUIDField(blank=True, null=True)),
                        ("changed", models.BooleanField(default=False)),
                        (
                            "room",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="messages",
                                to="talk.talkroom",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "conversations_talkmessage",
                    },
                ),
                migrations.AddConstraint(
                    model_name="talkroom",
                    constraint=models.UniqueConstraint(
                        fields=("server", "token"), name="talk_room_once"
                    ),
                ),
                migrations.AddIndex(
                    model_name="talkmessage",
                    index=models.Index(
                        condition=models.Q(("reference", ""), _negated=True),
                        fields=["room", "reference"],
                        name="talk_reference",
                    ),
                ),
                migrations.AddIndex(
                    model_name="talkmessage",
                    index=models.Index(
                        condition=models.Q(
                            ("state__in", ("waiting", "asked")), ("changed", True), _connector="OR"
                        ),
                        fields=["room", "number"],
                        name="talk_unfinished",
                    ),
                ),
                migrations.AddConstraint(
                    model_name="talkmessage",
                    constraint=models.UniqueConstraint(
                        fields=("room", "number"), name="talk_message_once"
                    ),
                ),
            ]
        )
    ]
