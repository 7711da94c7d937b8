from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0005_history_choice"),
    ]

    operations = [
        migrations.AddField(
            model_name="message",
            name="quoted",
            field=models.JSONField(blank=True, default=list),
        ),
    ]
