from django.db import migrations, models

# `database.owner_totals` makes them after the migrations.
TRIGGERS = "; ".join(
    f"DROP TRIGGER IF EXISTS conversations_ownertotal_{name}"
    for name in ("added", "changed", "removed")
)


class Migration(migrations.Migration):
    dependencies = [("conversations", "0024_tables_of_features")]

    operations = [
        migrations.CreateModel(
            name="OwnerTotal",
            fields=[
                ("owner", models.CharField(max_length=80, primary_key=True, serialize=False)),
                ("characters", models.BigIntegerField()),
            ],
        ),
        migrations.RunSQL(migrations.RunSQL.noop, TRIGGERS),
    ]
