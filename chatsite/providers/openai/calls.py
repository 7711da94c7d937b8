"""Collects streamed tool calls, in the forms that compatible servers send."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatsite.messages import UNSOUND
from chatsite.providers.base.provider import CallBegun, WrittenCall
from chatsite.providers.base.text import repair_text

# Shorter ids ("call_0") are repeated in every round, and a result would have two calls.
_SHORTEST_ID = 8


@dataclass(slots=True)
class _Call:
    index: int | None
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    extra: object = None

    @property
    def whole(self) -> bool:
        try:
            json.loads("".join(self.arguments))
        except ValueError:
            return False
        return True


class CallCollector:
    """Puts calls together from their pieces.

    OpenAI gives the name first and then arguments piece by piece, by index. Others send whole
    calls, without index, all with index 0, without an id, with the id of another call, or with
    arguments as an object.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._ids: list[str] | None = None

    def take(self, pieces: Sequence[Mapping[str, Any]]) -> list[CallBegun]:
        """The calls that have begun with these pieces."""
        begun = []
        for piece in pieces:
            function = piece.get("function") or {}
            name = repair_text(_string(function.get("name")))
            call = self._call_of(piece, name)
            if name and not call.name:
                begun.append(CallBegun(name))
                call.name = name
            elif name != call.name and not call.arguments:
                call.name += name
            call.id = call.id or _string(piece.get("id"))
            call.extra = piece.get("extra_content") or call.extra
            arguments = function.get("arguments")
            if arguments:
                text = arguments if isinstance(arguments, str) else json.dumps(arguments)
                call.arguments.append(text)
        return begun

    def called(self) -> tuple[WrittenCall, ...]:
        """All calls, each with an id of its own."""
        return tuple(
            WrittenCall(id=id, name=call.name, arguments="".join(call.arguments) or "{}")
            for id, call in zip(self._own_ids(), self._calls, strict=True)
        )

    def extras(self) -> dict[str, object]:
        """What the server wants back with a call, by the call's id."""
        pairs = zip(self._own_ids(), self._calls, strict=True)
        return {id: call.extra for id, call in pairs if call.extra}

    def _call_of(self, piece: Mapping[str, Any], name: str) -> _Call:
        index, id = piece.get("index"), _string(piece.get("id"))
        call = self._at(index, id, name)
        if call is not None and name and call.name:
            another = bool(id and call.id and id != call.id)
            if another or (bool(call.arguments) and not id and call.whole):
                call = None
        if call is None:
            call = _Call(index)
            self._calls.append(call)
        return call

    def _at(self, index: int | None, id: str, name: str) -> _Call | None:
        """The newest call that the piece may belong to."""
        if index is not None:
            return next((call for call in reversed(self._calls) if call.index == index), None)
        same = next((call for call in reversed(self._calls) if id and call.id == id), None)
        if same is None and not name and self._calls:
            return self._calls[-1]
        return same

    def _own_ids(self) -> list[str]:
        if self._ids is None:
            self._ids = []
            for call in self._calls:
                fits = len(call.id) >= _SHORTEST_ID and call.id not in self._ids
                fits = fits and not UNSOUND.search(call.id)
                self._ids.append(call.id if fits else f"call_{secrets.token_hex(12)}")
        return self._ids


def _string(value: object) -> str:
    """Text, "" for None. Raises TypeError for anything else."""
    if value is not None and not isinstance(value, str):
        raise TypeError("not text")
    return value or ""
