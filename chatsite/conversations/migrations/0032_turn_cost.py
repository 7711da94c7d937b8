from django.db import migrations, models
from django.db.models import Q

FIELDS = ["conversation", "ended", "cost"]


class Migration(migrations.Migration):
    dependencies = [("conversations", "0031_compactions")]
    operations = [
        migrations.AddField("turn", "cost", models.FloatField(blank=True, null=True)),
        migrations.AddIndex(
            "turn",
            models.Index(fields=FIELDS, name="turn_cost", condition=Q(cost__isnull=False)),
        ),
    ]
