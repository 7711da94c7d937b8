from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0030_marked_in_force"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="compacted",
            field=models.BooleanField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="summary",
            name="compaction",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="summary",
            name="undone",
            field=models.BooleanField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="summary",
            name="kept",
            field=models.JSONField(blank=True, null=True),
        ),
    ]
