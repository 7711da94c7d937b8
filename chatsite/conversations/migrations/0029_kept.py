from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0028_imports"),
    ]

    operations = [
        migrations.AddField(
            model_name="message",
            name="kept_whole",
            field=models.BooleanField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="message",
            name="in_force",
            field=models.TextField(blank=True, null=True),
        ),
    ]
