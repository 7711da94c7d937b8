"""Reads what Talk's chat API says of a message, and leaves out what it can't read. It is pure.

https://nextcloud-talk.readthedocs.io/en/latest/chat/ describes the fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from chatsite.messages import UNSOUND
from chatsite.talk.records import (
    ChangeKind,
    RoomChange,
    RoomFile,
    RoomKind,
    RoomMessage,
    RoomReaction,
)

Tag = Literal["result", "ack", "progress"]
_FORM = re.compile(
    r"chatsite:(?P<about>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"(?::(?P<part>[1-9][0-9]{0,6}))?:(?P<tag>result|ack|progress)"
)


class Reference(NamedTuple):
    """`about` is the id of the turn, or of the message where there is no turn; `part` counts the
    posts of one answer from 1."""

    about: str
    tag: Tag
    part: int = 1

    def __str__(self) -> str:
        part = f":{self.part}" if self.part > 1 else ""
        return f"chatsite:{self.about}{part}:{self.tag}"


def read_reference(text: str) -> Reference | None:
    """None for one that isn't ours."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    tag: Tag = found["tag"]  # type: ignore[assignment]
    return Reference(found["about"], tag, int(found["part"] or 1))


_PLACEHOLDER = re.compile(r"\{([A-Za-z0-9_-]{1,80})\}")
_MENTION = "mention-"
# How a text names who isn't a user of this Nextcloud, where the server doesn't say it itself.
_KINDS: Mapping[str, str] = {"user": "", "user-group": "group/", "guest": ""}
_ACTORS: Mapping[str, str] = {
    "users": "",
    "guests": "guest/",
    "emails": "email/",
    "federated_users": "federated_user/",
}
# What is left of "@bot: hello" once the name is taken out.
_AFTER_NAME = re.compile(r"[\s:,;：，、；،؛]+")
_CHANGES: Mapping[str, ChangeKind] = {
    "message_edited": "edited",
    "message_deleted": "deleted",
    "history_cleared": "cleared",
}
_NOT_SAID = ("system", "command", "reaction", "reaction_deleted")
LONGEST_NAME = 120
GUEST = "Guest"


def read_message(raw: object, *, bot: str) -> RoomMessage | None:
    """Reads a message; None stands for one without a number. `bot` is the user name of the bot's
    own account."""
    fields = _object(raw)
    id = number(fields.get("id"))
    if id <= 0:
        return None
    actor, parameters = _actor(fields), _object(fields.get("messageParameters"))
    parent = _object(fields.get("parent"))
    kind = _kind(fields, own=actor == f"users/{bot}")
    reads = kind not in ("deleted", "system")
    return RoomMessage(
        id=id,
        actor=actor,
        name=_name(fields),
        kind=kind,
        text=resolve_text(_text(fields.get("message")), parameters, bot=bot) if reads else "",
        sent=number(fields.get("timestamp")),
        edited=number(fields.get("lastEditTimestamp")),
        reference=_text(fields.get("referenceId"))[:64],
        parent=number(parent.get("id")) if reads else 0,
        parent_reference=_text(parent.get("referenceId"))[:64] if reads else "",
        mentioned=reads and any(_names_bot(one, bot) for one in _used(fields, parameters)),
        to_bot=reads and _actor(parent) == f"users/{bot}",
        files=_files(parameters) if reads else (),
    )


def read_change(raw: object, *, bot: str) -> RoomChange | None:
    """Reads from a system message what changed about an earlier message; None if nothing did."""
    fields = _object(raw)
    kind = _CHANGES.get(_text(fields.get("systemMessage")))
    id, parent = number(fields.get("id")), _object(fields.get("parent"))
    about = id if kind == "cleared" else number(parent.get("id"))
    if kind is None or id <= 0 or about <= 0:
        return None
    return RoomChange(
        id=id,
        kind=kind,
        message=about,
        by=_actor(fields),
        reference=_text(parent.get("referenceId"))[:64],
        after=read_message(parent, bot=bot) if kind == "edited" else None,
    )


def read_reaction(raw: object) -> RoomReaction | None:
    """Reads a reaction; None stands for any other message."""
    fields = _object(raw)
    parent = _object(fields.get("parent"))
    id, about = number(fields.get("id")), number(parent.get("id"))
    if fields.get("systemMessage") != "reaction" or id <= 0 or about <= 0:
        return None
    return RoomReaction(
        id=id,
        message=about,
        by=_actor(fields),
        emoji=_text(fields.get("message")),
        reference=_text(parent.get("referenceId"))[:64],
    )


def is_message(raw: object, id: int) -> bool:
    return number(_object(raw).get("id")) == id


def thread_of(raw: object, id: int) -> int:
    """Reads the thread of this message; 0 stands for none. Talk gives every reply a thread's
    number, even if nobody has made a thread."""
    fields = _object(raw)
    in_one = is_message(raw, id) and fields.get("isThread") is True
    return number(fields.get("threadId")) if in_one else 0


def named_ids(raw: object) -> frozenset[str]:
    """Lists whom a message mentions, as an answer would have to write them: by the server's ids,
    never by names, which people choose for themselves."""
    fields = _object(raw)
    parameters = _object(fields.get("messageParameters"))
    keys = _PLACEHOLDER.findall(_text(fields.get("message")))
    used = [_object(parameters.get(key)) for key in keys if key.startswith(_MENTION)]
    return frozenset(filter(None, map(_mention_id, used)))


def _mention_id(parameter: Mapping[str, Any]) -> str:
    if given := _text(parameter.get("mention-id")):
        return given
    kind, id = _text(parameter.get("type")), _text(parameter.get("id"))
    return f"{_KINDS[kind]}{id}" if id and kind in _KINDS and not parameter.get("server") else ""


def id_of_actor(actor: str) -> str:
    """Gives the id by which a text mentions the author of a message; "" stands for a program."""
    kind, _, id = actor.partition("/")
    return f"{_ACTORS[kind]}{id}" if id and kind in _ACTORS else ""


def resolve_text(text: str, parameters: Mapping[str, Any], *, bot: str) -> str:
    """The text with names in place of its placeholders, without the mention of the bot itself.

    A name is never read as a placeholder again, and a placeholder without a value stays as it is.
    """
    written, end = "", 0
    for found in _PLACEHOLDER.finditer(text):
        parameter = _object(parameters.get(found[1]))
        if not parameter or found.start() < end:
            continue
        written += text[end : found.start()]
        end = found.end()
        if _names_bot(parameter, bot):
            written, end = _without_name(written, text, end)
        else:
            sign = "@" if found[1].startswith(_MENTION) else ""
            name = _text(parameter.get("name")) or _text(parameter.get("id"))
            written += f"{sign}{name}" if name else found[0]
    return (written + text[end:]).strip()


def _without_name(before: str, text: str, end: int) -> tuple[str, int]:
    """The text before the bot's name, and where the text goes on after it: without the marks that
    addressed it at the beginning, without a double blank elsewhere."""
    if not before.strip():
        found = _AFTER_NAME.match(text, end)
        return "", found.end() if found else end
    follows = text[end : end + 1]
    if not follows or follows.isspace() or follows in ",.:;!?":
        return before.rstrip(" \t"), end
    return before, end


# ---- fields -------------------------------------------------------------------------------------
def _kind(fields: Mapping[str, Any], *, own: bool) -> RoomKind:
    if fields.get("messageType") == "comment_deleted" or fields.get("deleted") is True:
        return "deleted"
    if _text(fields.get("systemMessage")) or fields.get("messageType") in _NOT_SAID:
        return "system"
    reference = read_reference(_text(fields.get("referenceId"))) if own else None
    return reference.tag if reference is not None else "said"


def _actor(fields: Mapping[str, Any]) -> str:
    return f"{_text(fields.get('actorType'))}/{_text(fields.get('actorId'))}"[:200]


def _name(fields: Mapping[str, Any]) -> str:
    """On one line, and else as they call themselves: `values.room_names` says how it is shown. The
    id of a guest is a row of digits; Talk shows one without a name as a guest, too."""
    shown = " ".join(_text(fields.get("actorDisplayName")).split())
    is_guest = fields.get("actorType") in ("guests", "emails")
    unnamed = GUEST if is_guest else _text(fields.get("actorId"))
    return (shown or unnamed or "?")[:LONGEST_NAME]


def _used(fields: Mapping[str, Any], parameters: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Lists the parameters that the text names."""
    keys = _PLACEHOLDER.findall(_text(fields.get("message")))
    return [_object(parameters.get(key)) for key in keys]


def _names_bot(parameter: Mapping[str, Any], bot: str) -> bool:
    """Tells whether a mention is the bot's. A user of another server may have the bot's user name
    there, and people who don't choose from the list may write the name in capitals."""
    here = not parameter.get("server") and parameter.get("type") == "user"
    return here and _text(parameter.get("id")).casefold() == bot.casefold()


def _files(parameters: Mapping[str, Any]) -> tuple[RoomFile, ...]:
    """Reads the file that Talk itself shared. The sender wrote any other object, whatever its type
    says: its path may name a file of another room, which the bot can read."""
    one = _object(parameters.get("file"))
    name, path = _text(one.get("name")), _text(one.get("path"))
    if one.get("type") != "file" or not name or not path:
        return ()
    size, id = number(one.get("size")), number(one.get("id"))
    return (RoomFile(id=id, name=name, path=path, size=size),)


def _object(value: object) -> Mapping[str, Any]:
    """Reads an object; PHP writes an empty one as an empty list."""
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return UNSOUND.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else ""


def number(value: object) -> int:
    """Reads a number, also as text, as file sizes come. 0 stands for none, and for one that no
    column holds."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
        return value
    return 0
