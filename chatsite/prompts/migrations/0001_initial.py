import uuid
from typing import ClassVar

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    initial = True

    dependencies: ClassVar = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Prompt",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("guest", models.CharField(blank=True, default="", max_length=64)),
                ("name", models.CharField(max_length=40)),
                ("text", models.TextField()),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=Q(("user__isnull", False)),
                        fields=("user", "name"),
                        name="prompt_of_user",
                    ),
                    models.UniqueConstraint(
                        condition=Q(("user", None)),
                        fields=("guest", "name"),
                        name="prompt_of_guest",
                    ),
                ],
            },
        ),
    ]
