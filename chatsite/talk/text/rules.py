"""Decides about a message of a room: may its author speak, is it a command, does it get an
answer?"""

from __future__ import annotations

import re
from dataclasses import replace

from chatsite.talk.records import RoomChange, RoomMessage, RoomReaction
from chatsite.talk.rooms_file import RoomEntry, Speakers

POLICY, WHY, FORGET = "/policy", "/why", "/forget"
COMMANDS = (POLICY, WHY, FORGET)
_STOP = re.compile(r"stop[.!]*", re.IGNORECASE)
STOP_SIGNS = frozenset("🛑✋🤚🖐⏹❌")
# These change how a sign looks (as a picture or a letter, the tone of a hand's skin), and not what
# it means.
_DRAWN = re.compile("[\N{VARIATION SELECTOR-15}\N{VARIATION SELECTOR-16}\U0001f3fb-\U0001f3ff]")
_MACHINES = frozenset({"bots", "bridged", "deleted_users", ""})


def may_speak(actor: str, speakers: Speakers, *, bot: str) -> bool:
    """Tells whether the agent listens to somebody; it never listens to itself or another
    program."""
    kind, _, name = actor.partition("/")
    if kind in _MACHINES or actor == f"users/{bot}":
        return False
    if isinstance(speakers, frozenset):
        return kind == "users" and name in speakers
    return speakers == "everyone" or kind == "users"


def judge(message: RoomMessage, room: RoomEntry, *, bot: str, one_to_one: bool) -> RoomMessage:
    """Notes in a message its kind, whether it goes into the conversation, and whether it gets an
    answer. In a room of one person and the bot nobody mentions the bot."""
    if message.kind != "said" or not may_speak(message.actor, room.speakers, bot=bot):
        return message
    if is_stop(message):
        return replace(message, kind="command")
    if message.text.casefold() in COMMANDS:
        return replace(message, kind="command", text=message.text.casefold(), waits=True)
    answers = room.answers or ("always" if one_to_one else "mentioned")
    addressed = answers == "always" or message.mentioned or message.to_bot
    if not message.text and not message.files:
        # Somebody only names the bot, and wants it to say something about the messages before.
        return replace(message, text=f"@{bot}", waits=addressed, addressed=addressed)
    return replace(message, waits=True, addressed=addressed)


def is_stop(message: RoomMessage) -> bool:
    return _STOP.fullmatch(message.text) is not None


def withdrawal(message: RoomMessage) -> RoomChange | None:
    """Makes of "stop" the withdrawal of questions that its speaker asked and nobody has begun to
    answer."""
    if message.kind != "command" or not is_stop(message):
        return None
    return RoomChange(id=message.id, kind="stopped", message=message.id, by=message.actor)


def is_stop_sign(reaction: RoomReaction, room: RoomEntry, *, bot: str) -> bool:
    sign = _DRAWN.sub("", reaction.emoji)
    return sign in STOP_SIGNS and may_speak(reaction.by, room.speakers, bot=bot)
