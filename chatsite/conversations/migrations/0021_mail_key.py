"""A mail is known by a key of the server's own, no longer by its Message-ID alone."""

from hashlib import sha256
from typing import Any

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def fill_keys(apps: Any, _: BaseDatabaseSchemaEditor) -> None:
    """Of an account's mails the same as for new ones; of others nothing better is stored."""
    mails = apps.get_model("conversations", "Mail").objects.all()
    for mail in mails.iterator():
        own = mail.user_id is not None and not mail.external
        whose = f"account {mail.user_id}" if own else "of a version before"
        mail.key = sha256(f"{mail.message_id} {whose}".encode()).hexdigest()
        mail.save(update_fields=["key"])


class Migration(migrations.Migration):
    dependencies = [("conversations", "0020_mail")]

    operations = [
        migrations.AddField("mail", "key", models.CharField(max_length=64, null=True)),
        migrations.RunPython(fill_keys, migrations.RunPython.noop),
        migrations.AlterField("mail", "key", models.CharField(max_length=64, unique=True)),
        migrations.AlterField(
            "mail", "message_id", models.CharField(db_index=True, max_length=255)
        ),
    ]
