from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0032_turn_cost")]
    operations = [
        migrations.AddField(
            model_name="message",
            name="anchors",
            field=models.TextField(blank=True, null=True),
        ),
    ]
