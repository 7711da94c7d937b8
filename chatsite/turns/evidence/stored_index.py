"""Takes indexes from disk: at a conversation's first search, or before it, when the server has
started."""

from __future__ import annotations

import asyncio
import logging
import time

from chatsite.conversations.owners import Owner
from chatsite.conversations.search.stored_indexes import (
    index_progress,
    load_index,
    newest_indexed,
)
from chatsite.errors import NotFound, Refused
from chatsite.turns.evidence.index_cache import CachedIndex, IndexCache

logger = logging.getLogger("chatsite.turns")

# Indexes that are loaded when the server has started, the newest conversations' first: whoever
# talked lately comes back soon, and all at once after a restart. A hundred take a second, and 50
# MiB where they have vectors; no more than a part of the memory for all of them.
WARM = 100
WARM_MEMORY = 4


async def load_stored(
    cached: CachedIndex, *, owner: Owner, conversation: str, text_changes: int
) -> None:
    """Fill an empty index with what is stored. `text_changes` were counted before: what is changed
    meanwhile makes the index void. The caller holds its lock."""
    cached.text_changes = text_changes
    parts = await load_index(owner=owner, conversation=conversation)
    try:
        await asyncio.to_thread(cached.load, parts)
    except Refused as error:
        logger.info("%s That of %s is made anew.", error, conversation)


async def warm_up(indexes: IndexCache) -> None:
    """Load those of the newest conversations, one after the other, with a rest as long as each
    takes: turns go first."""
    try:
        newest = await newest_indexed(most=WARM)
    except Exception:
        logger.exception("the newest indexes couldn't be listed")
        return
    for owner, conversation in newest:
        if sum(cached.size for cached in indexes.values()) > indexes.memory // WARM_MEMORY:
            return
        began = time.monotonic()
        try:
            cached = indexes.use(conversation)
            # Those that are newer, and those that somebody used meanwhile, stay longer.
            indexes.move_to_end(conversation, last=False)
            await _load_ahead(cached, owner, conversation)
        except NotFound:  # deleted meanwhile
            indexes.pop(conversation, None)
        except Exception:
            logger.exception("the index of %s couldn't be loaded", conversation)
            indexes.pop(conversation, None)
        await asyncio.sleep(time.monotonic() - began)


async def _load_ahead(cached: CachedIndex, owner: Owner, conversation: str) -> None:
    async with cached.lock:
        if cached.text_changes is None and not cached.waiting:
            now = await index_progress(owner=owner, conversation=conversation, last=0)
            await load_stored(
                cached, owner=owner, conversation=conversation, text_changes=now.text_changes
            )
