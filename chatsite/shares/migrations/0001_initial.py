import uuid

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("conversations", "0034_sidebar")]

    operations = [
        migrations.CreateModel(
            "Share",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("conversation", models.ForeignKey("conversations.conversation", models.CASCADE)),
                ("created", models.DateTimeField()),
                ("ends", models.DateTimeField()),
                ("following", models.BooleanField(default=False)),
                ("runs", models.JSONField(default=list)),
                ("cleared", models.PositiveIntegerField(default=0)),
                ("receipts", models.BooleanField(default=False)),
                ("tools", models.BooleanField(default=False)),
                ("files", models.BooleanField(default=False)),
            ],
        )
    ]
