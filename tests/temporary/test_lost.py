"""A temporary chat that nobody uses any more is erased, whether a page still shows it or not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pytest_django import Settings

from chatsite import storage
from chatsite.conversations.models import Conversation
from chatsite.storage import reading, writing
from chatsite.temporary.closing import GRACE_SECONDS, MOST_SECONDS, TemporaryChats
from chatsite.wiring.site import Site
from tests.conversations.builders import new_id, talk
from tests.presence import leading


class Hours:
    """The process's own time, as far as a test lets it pass."""

    now = 0.0


@pytest.fixture
async def site(tmp_path: Path, settings: Settings) -> AsyncIterator[Site]:
    yield Site()
    storage.close()


@reading
def is_stored(*, id: str) -> bool:
    return Conversation.objects.filter(id=id).exists()


@writing
def store_temporary(*, id: str) -> None:
    talk(id, 1)
    Conversation.objects.filter(id=id).update(temporary=True)


@pytest.mark.django_db(transaction=True)
async def test_one_that_a_page_shows_is_erased_a_day_after_its_last_use(site: Site) -> None:
    time, id = Hours(), new_id()
    await store_temporary(id=id)
    chats = TemporaryChats(
        turns=site.turns,
        feeds=site.feeds,
        presence=leading(),
        forget=site._forget_chat,
        clock=lambda: time.now,
    )
    reader = site.feeds.of(id).join()
    for use in (0.0, MOST_SECONDS - 1):
        time.now = use
        chats.use(id)
        await chats.look()
    for passed in (MOST_SECONDS - 1, 1):
        time.now += passed
        await chats.look()
        assert await is_stored(id=id)
    time.now += GRACE_SECONDS  # as if its page had just gone
    await chats.look()
    assert not await is_stored(id=id) and (await reader.read()).type == "deleted"
