from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0011_guests"),
    ]

    operations = [
        migrations.AddField(
            model_name="searchindexpart",
            name="tokens",
            field=models.BinaryField(default=bytes),
        ),
    ]
