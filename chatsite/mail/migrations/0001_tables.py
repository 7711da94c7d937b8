import uuid

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
                    name="Mailbox",
                    fields=[
                        (
                            "name",
                            models.CharField(max_length=255, primary_key=True, serialize=False),
                        ),
                        ("validity", models.PositiveBigIntegerField()),
                        ("last", models.PositiveBigIntegerField()),
                    ],
                    options={
                        "db_table": "conversations_mailbox",
                    },
                ),
                migrations.CreateModel(
                    name="Mail",
                    fields=[
                        (
                            "id",
                            models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False),
                        ),
                        ("key", models.CharField(max_length=64, unique=True)),
                        ("message_id", models.CharField(db_index=True, max_length=255)),
                        ("sender", models.CharField(blank=True, default="", max_length=254)),
                        ("subject", models.CharField(blank=True, default="", max_length=200)),
                        ("subject_key", models.CharField(blank=True, default="", max_length=200)),
                        ("text", models.TextField(blank=True, default="")),
                        ("ids", models.JSONField(blank=True, default=list)),
                        ("chain", models.JSONField(blank=True, default=list)),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("waiting", "waiting"),
                                    ("sending", "sending"),
                                    ("answered", "answered"),
                                    ("ignored", "ignored"),
                                    ("refused", "refused"),
                                    ("held", "held"),
                                    ("dropped", "dropped"),
                                    ("over", "over"),
                                    ("undeliverable", "undeliverable"),
                                ],
                                max_length=13,
                            ),
                        ),
                        ("external", models.BooleanField(default=False)),
                        ("first", models.BooleanField(default=False)),
                        ("files", models.JSONField(blank=True, null=True)),
                        ("refused", models.JSONField(blank=True, default=list)),
                        ("outgoing", models.BinaryField(blank=True, null=True)),
                        ("answer_id", models.CharField(blank=True, default="", max_length=255)),
                        ("answer", models.UUIDField(blank=True, null=True)),
                        ("received", models.DateTimeField(db_index=True)),
                        ("ended", models.DateTimeField(blank=True, null=True)),
                        (
                            "conversation",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="mails",
                                to="conversations.conversation",
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "db_table": "conversations_mail",
                        "indexes": [
                            models.Index(
                                condition=models.Q(("state__in", ("waiting", "sending"))),
                                fields=["received"],
                                name="mail_unfinished",
                            ),
                            models.Index(
                                condition=models.Q(("answer_id", ""), _negated=True),
                                fields=["answer_id"],
                                name="mail_answer_id",
                            ),
                            models.Index(fields=["sender", "received"], name="mail_of_sender"),
                            models.Index(fields=["conversation", "ended"], name="mail_of_thread"),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="MailAddress",
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
                        ("address", models.CharField(max_length=254)),
                        ("created", models.DateTimeField()),
                        ("verified", models.DateTimeField(blank=True, null=True)),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="mail_addresses",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "db_table": "conversations_mailaddress",
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("user", "address"), name="mail_address_once"
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(("verified__isnull", False)),
                                fields=("address",),
                                name="mail_address_of_one_account",
                            ),
                        ],
                    },
                ),
            ]
        )
    ]
