from django.db import migrations, models

# Guests from before count from now on: nobody knows when they were here last.
KNOWN = """
INSERT INTO conversations_guest (key, seen)
SELECT guest, CURRENT_TIMESTAMP FROM (
  SELECT guest FROM conversations_conversation WHERE guest <> ''
  UNION SELECT guest FROM conversations_upload WHERE guest <> '') AS known
"""


class Migration(migrations.Migration):
    dependencies = [("conversations", "0010_characters")]

    operations = [
        migrations.CreateModel(
            name="Guest",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("seen", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.RunSQL(KNOWN, migrations.RunSQL.noop),
    ]
