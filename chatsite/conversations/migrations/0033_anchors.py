from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0030_marked_in_force")]
    operations = [
        migrations.AddField(
            model_name="message",
            name="anchors",
            field=models.TextField(blank=True, null=True),
        ),
    ]
