from typing import Any

from django.conf import settings
from django.db import migrations, models

from chatsite.own_agents.models import ONE_OWNER, new_slug

OWN_AGENT = "own_agents.ownagent"


def owned() -> list[tuple[str, Any]]:
    """The columns of what belongs to an owner."""
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        blank=True,
        null=True,
        on_delete=models.CASCADE,
        related_name="+",
    )
    return [
        (
            "id",
            models.BigAutoField(
                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
            ),
        ),
        ("user", account),
        ("guest", models.CharField(blank=True, db_index=True, default="", max_length=64)),
        ("changed", models.DateTimeField(db_index=True)),
    ]


class Migration(migrations.Migration):
    initial = True
    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]
    operations = [
        migrations.CreateModel(
            name="OwnAgent",
            fields=[
                *owned(),
                ("slug", models.CharField(default=new_slug, max_length=64, unique=True)),
                ("number", models.PositiveIntegerField(default=0)),
                ("shared", models.BooleanField(default=False)),
                ("deleted", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=ONE_OWNER, name="own_agent_has_one_owner")
                ],
            },
        ),
        migrations.CreateModel(
            name="OwnAgentVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("agent", models.ForeignKey(OWN_AGENT, models.CASCADE, related_name="versions")),
                ("number", models.PositiveIntegerField()),
                ("created", models.DateTimeField()),
                ("template", models.JSONField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("agent", "number"), name="own_agent_version_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="OwnInstructions",
            fields=[
                *owned(),
                ("text", models.CharField(blank=True, default="", max_length=4000)),
                ("on", models.BooleanField(default=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=ONE_OWNER, name="own_instructions_have_one_owner"
                    ),
                    models.UniqueConstraint(fields=("user", "guest"), name="own_instructions_once"),
                ],
            },
        ),
    ]
