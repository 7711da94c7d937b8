"""How much of the engine's cache is saved, and what is unloaded where it is full."""

from __future__ import annotations

from chatsite.environment import number, text
from chatsite.kv_cache.cleanup import resolve_cleanup

# 0: nothing is saved.
KV_SESSIONS_MB = number("KV_SESSIONS_MB", 1_024, low=0, high=1_000_000)
CACHE_CLEANUP = text("CACHE_CLEANUP")
resolve_cleanup(environment=CACHE_CLEANUP, template={})
