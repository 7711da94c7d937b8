from typing import Any

from django.db import migrations

# For `accounts/shared_limits.py`. Unlogged: what is lost in a crash, a restart of the one server
# always forgot. Half of each page stays free for its rows' next numbers.
CREATE = """
    CREATE UNLOGGED TABLE IF NOT EXISTS accounts_earned
    (who bigint PRIMARY KEY, earned timestamptz NOT NULL) WITH (fillfactor = 50)
"""


def create(apps: Any, editor: Any) -> None:
    if editor.connection.vendor == "postgresql":
        editor.execute(CREATE)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_tables")]
    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
