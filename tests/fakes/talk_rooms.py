"""The state of a Talk-shaped server: rooms with messages, as its chat API describes them."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

STOP_HAND = "\N{RAISED HAND}"
_AT = re.compile(r'@"?([A-Za-z0-9_.-]+)"?')


@dataclass
class Room:
    """`names` are its people, shown names by user name. `read_only`: nobody may write."""

    token: str
    name: str
    names: dict[str, str]
    messages: list[dict[str, Any]] = field(default_factory=list)
    read_only: bool = False
    one_to_one: bool = False


class TalkState:
    """All rooms. Message ids are those of one table, so a room's ids have gaps."""

    def __init__(self) -> None:
        self.rooms: dict[str, Room] = {}
        self.files: dict[str, bytes] = {}
        # What is shared with which rooms: numbers of files and tokens, by the path.
        self.shares: dict[str, tuple[int, list[str]]] = {}
        # Messages that are counted and given to nobody, and those that began a thread.
        self.hidden: set[int] = set()
        self.threads: set[int] = set()
        self._next = 100

    def add_room(self, token: str, *people: str, name: str = "Harbour works", bot: str) -> Room:
        names = {one: one.capitalize() for one in (bot, *people)}
        room = self.rooms[token] = Room(token, name, names)
        self._append(room, bot, "You joined", system="user_added")
        return room

    # ---- what people do ----------------------------------------------------------------------
    def say(
        self,
        token: str,
        who: str,
        text: str,
        *,
        reply_to: int = 0,
        reference: str = "",
        thread: int = 0,
        hidden: bool = False,
        actor_type: str = "users",
        parameters: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """A message; `@name` of somebody in the room becomes a mention, as Talk makes it. `fields`
        are said instead of what it would have."""
        room = self.rooms[token]
        text, mentioned = self._mentions(room, text)
        found = {**mentioned, **(parameters or {})}
        more: dict[str, Any] = {"referenceId": reference, "actorType": actor_type}
        if hidden:
            self.hidden.add(self._next + 2)
        if reply_to:
            more["parent"] = self._as_parent(room, reply_to)
        thread = more.get("parent", {}).get("threadId", thread)
        if thread:
            more |= {"threadId": thread, "isThread": thread in self.threads}
        more |= fields or {}
        return self._append(room, who, text, parameters=found, more=more)

    def begin_thread(self, token: str, who: str, text: str) -> int:
        self.threads.add(self._next + 2)
        return int(self.say(token, who, text)["id"])

    def share(self, token: str, who: str, name: str, content: bytes, text: str = "") -> int:
        """A file in the room, with a caption or none."""
        path = f"Talk/{name}"
        self.files[path] = content
        number, tokens = self.shares.setdefault(path, (700 + len(self.shares), []))
        tokens.append(token)
        file = {
            "type": "file",
            "id": str(number),
            "name": name,
            "path": path,
            "size": str(len(content)),
            "mimetype": "text/plain",
        }
        return int(self.say(token, who, text or "{file}", parameters={"file": file})["id"])

    def edit(self, token: str, number: int, text: str) -> None:
        room, raw = self.rooms[token], self._message(token, number)
        raw["message"], raw["messageParameters"] = self._mentions(room, text)
        raw["lastEditTimestamp"] = int(time.time())
        self._system(room, raw["actorId"], "message_edited", raw)

    def delete(self, token: str, number: int, *, by: str = "") -> None:
        raw = self._message(token, number)
        raw |= {"message": "Message deleted by author", "messageParameters": []}
        raw["messageType"] = "comment_deleted"
        self._system(self.rooms[token], by or raw["actorId"], "message_deleted", raw)

    def react(self, token: str, who: str, number: int, emoji: str = STOP_HAND) -> None:
        raw = self._message(token, number)
        self._system(self.rooms[token], who, "reaction", raw, text=emoji)

    def clear(self, token: str, who: str) -> None:
        room = self.rooms[token]
        room.messages.clear()
        self._append(room, who, "{actor} cleared the history", system="history_cleared")

    # ---- what is seen ------------------------------------------------------------------------
    def after(self, token: str, number: int, limit: int) -> list[dict[str, Any]]:
        return [one for one in self.rooms[token].messages if one["id"] > number][:limit]

    def posts(self, token: str, who: str = "assistant", tag: str = "result") -> list[str]:
        """The texts that the bot posted under such a reference id."""
        return [raw["message"] for raw in self.raw_posts(token, who, tag)]

    def raw_posts(
        self, token: str, who: str = "assistant", tag: str = "result"
    ) -> list[dict[str, Any]]:
        return [
            raw
            for raw in list(self.rooms[token].messages)
            if raw["actorId"] == who and raw["referenceId"].endswith(f":{tag}")
        ]

    # ---- inside ------------------------------------------------------------------------------
    def _append(
        self,
        room: Room,
        who: str,
        text: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        system: str = "",
        more: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        self._next += 2
        raw: dict[str, Any] = {
            "id": self._next,
            "token": room.token,
            "actorType": "users",
            "actorId": who,
            "actorDisplayName": room.names.get(who, who),
            "timestamp": int(time.time()),
            "systemMessage": system,
            "messageType": "system" if system else "comment",
            "isReplyable": not system,
            "referenceId": "",
            "message": text,
            "messageParameters": dict(parameters or {}) or [],
            "threadId": self._next,
            "isThread": self._next in self.threads,
            "expirationTimestamp": 0,
            "reactions": [],
            "markdown": True,
            **(more or {}),
        }
        room.messages.append(raw)
        return raw

    def _system(
        self, room: Room, who: str, name: str, parent: Mapping[str, Any], *, text: str = ""
    ) -> None:
        more = {"parent": self._as_parent(room, int(parent["id"]))}
        self._append(room, who, text or name, system=name, more=more)

    def _message(self, token: str, number: int) -> dict[str, Any]:
        return next(one for one in self.rooms[token].messages if one["id"] == number)

    def _as_parent(self, room: Room, number: int) -> dict[str, Any]:
        """A parent comes whole, without its own; of a deleted one nothing but its id."""
        for raw in room.messages:
            if raw["id"] == number:
                if raw["messageType"] == "comment_deleted":
                    return {"id": number, "deleted": True}
                return {key: value for key, value in raw.items() if key != "parent"}
        return {"id": number, "deleted": True}

    def may_be_replied_to(self, token: str, number: int) -> bool:
        found = [one for one in self.rooms[token].messages if one["id"] == number]
        return bool(found) and found[0]["messageType"] == "comment"

    @staticmethod
    def _mentions(room: Room, text: str) -> tuple[str, dict[str, Any]]:
        parameters: dict[str, Any] = {}

        def mention(found: re.Match[str]) -> str:
            name = found[1]
            if name != "all" and name not in room.names:
                return found[0]
            key = f"mention-{'call' if name == 'all' else 'user'}{len(parameters) + 1}"
            parameters[key] = (
                {"type": "call", "id": room.token, "name": room.name}
                if name == "all"
                else {"type": "user", "id": name, "name": room.names[name]}
            )
            return f"{{{key}}}"

        return _AT.sub(mention, text), parameters

    def shown(self, token: str) -> Sequence[str]:
        """The room as text, one line a message."""
        lines = []
        for raw in self.rooms[token].messages:
            if raw["systemMessage"]:
                continue
            text = str(raw["message"])
            for key, value in dict(raw["messageParameters"] or {}).items():
                text = text.replace(f"{{{key}}}", f"@{value['name']}")
            lines.append(f"{raw['actorDisplayName']}: {text}")
        return lines
