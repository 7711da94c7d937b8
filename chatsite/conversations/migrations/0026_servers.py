from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0025_owner_totals"),
    ]

    operations = [
        migrations.CreateModel(
            name="Server",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                ("address", models.CharField(default="", max_length=200)),
                ("started", models.DateTimeField()),
                ("seen", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="turn",
            name="server",
            field=models.UUIDField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="turn",
            name="stop",
            field=models.CharField(blank=True, max_length=12, null=True),
        ),
    ]
