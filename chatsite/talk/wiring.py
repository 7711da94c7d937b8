"""Talk as a channel: the rooms that TALK_FILE names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings

from chatsite.conversations.ownership import Owner
from chatsite.conversations.versions.edits import TextChange
from chatsite.events import Cleared, PathChanged, SummaryChanged
from chatsite.kv_cache.slots.cache import Cache
from chatsite.kv_cache.trim_ahead import TrimAhead
from chatsite.talk.api import TalkApi
from chatsite.talk.channel import TalkChannel
from chatsite.talk.rooms_file import RoomsFile, read_rooms_file
from chatsite.talk.surroundings import Surroundings
from chatsite.talk.text.words import policy_words
from chatsite.turns.answer.feed import ConversationFeeds
from chatsite.turns.context.turn_context import PageRequest
from chatsite.turns.evidence.recall import Recaller
from chatsite.turns.evidence.running_summary import Summariser
from chatsite.wiring.feature import Feature

if TYPE_CHECKING:
    from chatsite.wiring.site import Site


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedElsewhere:
    """What has to hear of a change that wasn't made in the page: the pages, and whatever was made
    of the old text."""

    recaller: Recaller
    cache: Cache
    trim_ahead: TrimAhead
    feeds: ConversationFeeds
    summariser: Summariser

    def came(self, conversation: str, change: TextChange) -> None:
        """Something was said there: nothing that was made of what is above changes."""
        self.trim_ahead.changed(conversation)
        self.feeds.publish(conversation, change.changed)

    async def changed(self, owner: Owner, conversation: str, change: TextChange) -> None:
        await self._drop(conversation)
        path = PathChanged(below=change.below) if change.below is not None else change.changed
        self.feeds.publish(conversation, path)
        state = await self.summariser.state(owner, conversation)
        self.feeds.publish(conversation, SummaryChanged(summary=state.view))

    async def cleared(self, owner: Owner, conversation: str) -> None:
        await self._drop(conversation)
        self.feeds.publish(conversation, Cleared())

    async def _drop(self, conversation: str) -> None:
        self.recaller.forget(conversation)
        await self.cache.drop(conversation)
        self.trim_ahead.changed(conversation)


def rooms_file() -> RoomsFile | None:
    """What TALK_FILE says, None without one. Raises BadSetting."""
    if not settings.TALK_FILE:
        return None
    return read_rooms_file(settings.TALK_FILE, environment=settings.FILE_VARIABLES)


def talk_api(file: RoomsFile) -> TalkApi:
    return TalkApi(server=file.server, user=file.user, password=file.password)


class TalkFeature(Feature):
    """The rooms of TALK_FILE; none without it."""

    def check_start(self) -> str:
        rooms_file()
        return ""

    def channels(self, site: Site) -> Iterator[TalkChannel]:
        file = rooms_file()
        if file is None:
            return
        turns = site.turns
        elsewhere = ChangedElsewhere(
            recaller=site.recaller,
            cache=site.cache,
            trim_ahead=site.trim_ahead,
            feeds=site.feeds,
            summariser=site.summariser,
        )

        async def stop(owner: Owner, conversation: str) -> bool:
            return turns.is_running(conversation) and await turns.stop_for(owner, conversation)

        async def policy(request: PageRequest) -> str:
            return policy_words((await turns.drafts.context(request)).settings)

        around = Surroundings(
            intake=site.intake,
            stop=stop,
            policy=policy,
            came=elsewhere.came,
            changed=elsewhere.changed,
            cleared=elsewhere.cleared,
            opened=site.rooms.add,
            keep=settings.TALK_CACHE_MAX_PER_CONVERSATION,
        )
        yield TalkChannel(file, api=talk_api(file), around=around)
