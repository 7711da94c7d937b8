"""Talk as a channel: the rooms that TALK_FILE names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from django.conf import settings

from chatsite.conversations.owners import Owner
from chatsite.conversations.versions.edits import TextChange
from chatsite.events import Cleared
from chatsite.talk.api import TalkApi
from chatsite.talk.channel import TalkChannel
from chatsite.talk.rooms import opened_rooms
from chatsite.talk.rooms_file import RoomsFile, read_rooms_file
from chatsite.talk.surroundings import Surroundings
from chatsite.talk.text.words import policy_words
from chatsite.turns.context.turn_context import PageRequest
from chatsite.wiring.feature import Feature, require_kept_chats

if TYPE_CHECKING:
    from chatsite.wiring.site import Site


def rooms_file() -> RoomsFile | None:
    """Reads TALK_FILE; None without one. Raises BadSetting."""
    if not settings.TALK_FILE:
        return None
    return read_rooms_file(settings.TALK_FILE, environment=settings.FILE_VARIABLES)


def talk_api(file: RoomsFile) -> TalkApi:
    return TalkApi(server=file.server, user=file.user, password=file.password)


class TalkFeature(Feature):
    """The rooms of TALK_FILE; none without it."""

    def check_start(self) -> str:
        if rooms_file():
            require_kept_chats("TALK_FILE")
        return ""

    def channels(self, site: Site) -> Iterator[TalkChannel]:
        file = rooms_file()
        if file is None:
            return
        site.rooms.find = partial(opened_rooms, file)
        turns = site.turns

        async def stop(owner: Owner, conversation: str) -> bool:
            return turns.is_running(conversation) and await turns.stop(owner, conversation)

        async def policy(request: PageRequest) -> str:
            return policy_words((await turns.drafts.context(request)).settings)

        def came(conversation: str, change: TextChange) -> None:
            """Tells of new messages: they change nothing of what was made of those above."""
            site.trim_ahead.changed(conversation)
            site.feeds.publish(conversation, change.changed)

        async def cleared(conversation: str) -> None:
            await site.drop_old_text(conversation)
            site.trim_ahead.changed(conversation)
            site.feeds.publish(conversation, Cleared())

        around = Surroundings(
            intake=site.intake,
            stop=stop,
            policy=policy,
            came=came,
            changed=site.tell_text_change,
            cleared=cleared,
            opened=site.rooms.look,
            keep=settings.TALK_CACHE_MAX_PER_CONVERSATION,
        )
        yield TalkChannel(file, api=talk_api(file), around=around)
