import uuid

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0027_smaller_word_numbers"),
    ]

    operations = [
        migrations.CreateModel(
            name="Import",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("user", models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True)),
                ("guest", models.CharField(default="", max_length=64)),
                ("server", models.UUIDField()),
                ("conversation", models.UUIDField(null=True)),
                ("told", models.JSONField(default=dict)),
                ("began", models.DateTimeField()),
                ("ended", models.DateTimeField(null=True)),
            ],
        ),
    ]
