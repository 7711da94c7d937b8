import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [("conversations", "0034_sidebar")]

    operations = [
        migrations.CreateModel(
            name="TemporaryFile",
            fields=[
                (
                    "upload",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="temporary",
                        serialize=False,
                        to="conversations.upload",
                    ),
                ),
                ("conversation", models.UUIDField(db_index=True)),
                ("touched", models.DateTimeField()),
            ],
        ),
    ]
