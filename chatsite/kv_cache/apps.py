from django.apps import AppConfig


class KvCacheConfig(AppConfig):
    name = "chatsite.kv_cache"

    def ready(self) -> None:
        from chatsite.conversations.signals import text_changed
        from chatsite.kv_cache.saved_sessions import delete_saved_sessions

        text_changed.connect(delete_saved_sessions)
