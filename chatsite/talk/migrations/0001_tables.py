from django.db import migrations


class Migration(migrations.Migration):
    """The tables and their models are there already: `conversations` made and moved them."""

    dependencies = [("conversations", "0024_tables_of_features")]
