from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("mail", "0001_tables")]
    operations = [
        migrations.AddField(
            "mail", "language", models.CharField(blank=True, max_length=10, null=True)
        )
    ]
