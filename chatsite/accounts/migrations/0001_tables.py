from django.db import migrations, models


class Migration(migrations.Migration):
    """The table is there already: `conversations` made it."""

    dependencies = [
        ("conversations", "0024_tables_of_features"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Guest",
                    fields=[
                        ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                        ("seen", models.DateTimeField(db_index=True)),
                    ],
                    options={
                        "db_table": "conversations_guest",
                    },
                ),
            ]
        )
    ]
