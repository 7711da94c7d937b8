"""Which cleanup applies where a model is asked: only the one that runs on this machine has a cache
that is ours to clean up."""

from __future__ import annotations

from functools import partial

from chatsite.agents.template import EMBEDDED
from chatsite.history import Cleaner
from chatsite.kv.cleanup import make_room
from chatsite.kv.cleanup_setting import Cleanup, resolve_cleanup
from chatsite.turns.agents.resolved_agent import ResolvedAgent


def has_cache(answering: ResolvedAgent) -> bool:
    return answering.provider.kind == EMBEDDED


def cleanup_of(answering: ResolvedAgent, environment: str) -> Cleanup:
    """`environment` is the raw value of CACHE_CLEANUP."""
    return resolve_cleanup(environment=environment, template=answering.template.chat_settings)


def cleaner_of(answering: ResolvedAgent, environment: str) -> Cleaner | None:
    """What a decision is given; None where another model answers, whose server has its own ways."""
    if not has_cache(answering):
        return None
    cleanup = cleanup_of(answering, environment)
    return Cleaner(
        strategy=cleanup.value,
        source=cleanup.source,
        words=cleanup.words,
        makes_room=partial(make_room, cleanup.value),
    )
