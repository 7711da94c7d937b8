from django.db import migrations, models
from django.db.models import Q

MARKED = Q(pinned=True) | Q(excluded=True) | Q(in_force__gt="")
PLACE = ["conversation", "on_path", "turn_seq"]
INDEX = models.Index(fields=PLACE, name="message_marked", condition=MARKED)


class Migration(migrations.Migration):
    dependencies = [("conversations", "0029_kept")]
    operations = [
        migrations.RemoveIndex("message", "message_marked"),
        migrations.AddIndex("message", INDEX),
    ]
