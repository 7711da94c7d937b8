"""The books of the engine's KV cache, as functions of values: what lies where, what a request will
find there, what is saved, and what goes when there is no room."""

from chatsite.kv.books import EMPTY, LOADED, MARKED, UNLOADED, Book, Place, Span
from chatsite.kv.reuse import Account, Origin, Reuse, plan, reuse
from chatsite.kv.sessions import Fingerprint, Session, SessionFile, outdated

__all__ = [
    "EMPTY",
    "LOADED",
    "MARKED",
    "UNLOADED",
    "Account",
    "Book",
    "Fingerprint",
    "SessionFile",
    "Origin",
    "Place",
    "Reuse",
    "Session",
    "Span",
    "outdated",
    "plan",
    "reuse",
]
