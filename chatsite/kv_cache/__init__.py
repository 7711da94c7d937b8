"""The books of the engine's KV cache, as pure values: which tokens each slot holds, how many of
them a request reuses, what is saved, and what is unloaded for room."""

from chatsite.kv_cache.books import EMPTY, LOADED, MARKED, UNLOADED, Book, Place, Span
from chatsite.kv_cache.reuse import Account, Origin, Reuse, plan, reuse
from chatsite.kv_cache.session import Fingerprint, Session, SessionFile, outdated

__all__ = [
    "EMPTY",
    "LOADED",
    "MARKED",
    "UNLOADED",
    "Account",
    "Book",
    "Fingerprint",
    "Origin",
    "Place",
    "Reuse",
    "Session",
    "SessionFile",
    "Span",
    "outdated",
    "plan",
    "reuse",
]
