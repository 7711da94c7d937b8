from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0004_kv_cache"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="history",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
