from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0007_fewer_indexes"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="importing",
            field=models.BooleanField(default=False),
        ),
    ]
