from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.models.signals import post_delete, post_migrate


class ConversationsConfig(AppConfig):
    name = "chatsite.conversations"

    def ready(self) -> None:
        # Models can't be imported before the apps are ready.
        from chatsite.conversations import models
        from chatsite.conversations.database import owner_totals
        from chatsite.conversations.files import uploads
        from chatsite.conversations.search import word_tables

        post_delete.connect(uploads.remove_bytes, sender=models.Upload)
        connection_created.connect(word_tables.register)
        post_migrate.connect(word_tables.create_index, sender=self)
        post_migrate.connect(owner_totals.create_triggers, sender=self)
