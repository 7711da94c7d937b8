from django.urls import path

from chatsite.kv_cache import pages

urlpatterns = [
    path("cache", pages.cache_view, name="cache"),
    path("cache/cleanup", pages.clean_cache, name="cache-cleanup"),
    path("cache/bring_back", pages.bring_back_unloaded, name="cache-bring-back"),
]
