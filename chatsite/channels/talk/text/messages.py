"""Reads what Talk's chat API says of a message. Pure; what can't be read is left out.

https://nextcloud-talk.readthedocs.io/en/latest/chat/ describes the fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from chatsite.conversations.values.room_records import (
    ChangeKind,
    RoomChange,
    RoomFile,
    RoomKind,
    RoomMessage,
    RoomReaction,
)
from chatsite.conversations.values.room_references import read_reference
from chatsite.messages import MAX_ATTACHMENTS, UNSOUND

_PLACEHOLDER = re.compile(r"\{([A-Za-z0-9_-]{1,80})\}")
_MENTION = "mention-"
# What is left of "@bot: hello" once the name is taken out.
_AFTER_NAME = re.compile(r"[\s:,;]+")
_CHANGES: Mapping[str, ChangeKind] = {
    "message_edited": "edited",
    "message_deleted": "deleted",
    "history_cleared": "cleared",
}
LONGEST_NAME = 120


def read_message(raw: object, *, bot: str) -> RoomMessage | None:
    """None for what has no number. `bot` is the user name of the bot's own account."""
    fields = _object(raw)
    id = _number(fields.get("id"))
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
        sent=_number(fields.get("timestamp")),
        edited=_number(fields.get("lastEditTimestamp")),
        reference=_text(fields.get("referenceId"))[:64],
        parent=_number(parent.get("id")) if reads else 0,
        parent_reference=_text(parent.get("referenceId"))[:64] if reads else "",
        mentioned=reads and any(_names_bot(one, bot) for one in _used(fields, parameters)),
        to_bot=reads and _actor(parent) == f"users/{bot}",
        files=_files(parameters) if reads else (),
    )


def read_change(raw: object, *, bot: str) -> RoomChange | None:
    """What a system message says of an earlier message; None where it says nothing of the kind."""
    fields = _object(raw)
    kind = _CHANGES.get(_text(fields.get("systemMessage")))
    id, parent = _number(fields.get("id")), _object(fields.get("parent"))
    about = id if kind == "cleared" else _number(parent.get("id"))
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
    """None for what isn't one."""
    fields = _object(raw)
    parent = _object(fields.get("parent"))
    id, about = _number(fields.get("id")), _number(parent.get("id"))
    if fields.get("systemMessage") != "reaction" or id <= 0 or about <= 0:
        return None
    return RoomReaction(
        id=id,
        message=about,
        by=_actor(fields),
        emoji=_text(fields.get("message")),
        reference=_text(parent.get("referenceId"))[:64],
    )


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
    if _text(fields.get("systemMessage")) or fields.get("messageType") in ("system", "command"):
        return "system"
    reference = read_reference(_text(fields.get("referenceId"))) if own else None
    return reference.tag if reference is not None else "said"


def _actor(fields: Mapping[str, Any]) -> str:
    return f"{_text(fields.get('actorType'))}/{_text(fields.get('actorId'))}"[:200]


def _name(fields: Mapping[str, Any]) -> str:
    """On one line: the name stands before the text in what a model reads."""
    shown = " ".join(_text(fields.get("actorDisplayName")).split())
    return (shown or _text(fields.get("actorId")) or "?")[:LONGEST_NAME]


def _used(fields: Mapping[str, Any], parameters: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The parameters that the text names."""
    keys = _PLACEHOLDER.findall(_text(fields.get("message")))
    return [_object(parameters.get(key)) for key in keys]


def _names_bot(parameter: Mapping[str, Any], bot: str) -> bool:
    return parameter.get("type") == "user" and parameter.get("id") == bot


def _files(parameters: Mapping[str, Any]) -> tuple[RoomFile, ...]:
    found = []
    for one in map(_object, parameters.values()):
        name, path = _text(one.get("name")), _text(one.get("path"))
        if one.get("type") == "file" and name and path:
            found.append(RoomFile(name=name, path=path, size=_number(one.get("size"))))
    return tuple(found[:MAX_ATTACHMENTS])


def _object(value: object) -> Mapping[str, Any]:
    """PHP writes an empty object as an empty list."""
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return UNSOUND.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else ""


def _number(value: object) -> int:
    """A number also as text: file sizes come so. 0 for none, and for what no column holds."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63:
        return value
    return 0
