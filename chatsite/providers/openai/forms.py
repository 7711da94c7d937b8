"""The forms in which servers send text and tool calls in place of OpenAI's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatsite.messages import repair_text
from chatsite.providers.base.provider import CallBegun, WrittenCall
from chatsite.providers.base.received import (
    LONGEST_KEPT,
    LONGEST_NAME,
    MOST_CALLS,
    Allowance,
    TooLong,
    called_name,
    own_ids,
    size_of,
    string_of,
)


# ---- text ------------------------------------------------------------------------------------
def parts_of(content: Any) -> Iterator[tuple[str, str]]:
    """Text or thought, "" for the other, of content that isn't plain text. Mistral sends lists of
    parts, of text, of thinking (itself a list) and of references, which have no text:
    https://docs.mistral.ai/capabilities/reasoning/ . Raises TypeError for what isn't text."""
    if isinstance(content, str):
        yield content, ""
    elif isinstance(content, list):
        for part in content:
            yield from parts_of(part)
    elif isinstance(content, dict):
        kind = content.get("type")
        thought = content.get("thinking") or content.get("reasoning") or content.get("summary")
        if thought or kind in ("thinking", "reasoning"):
            thoughts = parts_of(thought or content.get("text") or content.get("content"))
            yield "", "".join(one or other for one, other in thoughts)
        else:
            yield from parts_of(content.get("text") or content.get("refusal") or ())
    elif content not in (None, ()):
        raise TypeError("not text")


class WholeMessages:
    """Knows what is new in messages that repeat what was said; `said` are the pieces so far, which
    the reader adds to. `count` messages have come.

    Some servers send the answer so far with each event, some the whole answer once more at its end,
    some pieces: what doesn't begin with the answer so far is a piece, but for a repetition of what
    came in deltas.
    """

    def __init__(self, said: list[str]) -> None:
        self.count = 0
        self._said = said
        self._by_messages = False
        self._in_pieces = False

    @property
    def is_document(self) -> bool:
        """Whether one message was all: a document, which is whole where it can be read."""
        return self.count == 1 and (self._by_messages or not self._said)

    def new_of(self, text: str) -> str:
        said = "".join(self._said)
        by_deltas = bool(said) and not self._by_messages
        self._by_messages = not by_deltas
        if not said or self._in_pieces:
            return text
        if text.startswith(said):
            self._said[:] = [said]
            return text[len(said) :]
        if by_deltas:
            return ""
        self._in_pieces = True
        return text


# ---- calls -----------------------------------------------------------------------------------
# As models of several makers were taught them.
_ARGUMENTS = ("arguments", "parameters", "input")
# Characters that may be read to see where one call ends: they are read again with every piece, and
# a server could send a million pieces.
_MOST_READ = 20 * LONGEST_KEPT


@dataclass(slots=True)
class _Call:
    index: int | None
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    length: int = 0
    extra: object = None

    @property
    def written(self) -> str:
        """The arguments; of none, and of null, those of a call without any."""
        written = "".join(self.arguments)
        return "{}" if written.strip() in ("", "null") else written

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
    arguments as an object; some begin a call under the index of another one and go on under its
    own.
    """

    def __init__(self, allowance: Allowance) -> None:
        self._calls: list[_Call] = []
        self._ids: list[str] | None = None
        self._allowance = allowance
        self._may_read = _MOST_READ

    def take(self, pieces: Sequence[Mapping[str, Any]]) -> list[CallBegun]:
        """Return the calls that have begun with these pieces. Raises TooLong for more than a model
        writes."""
        if len(pieces) > MOST_CALLS:
            raise TooLong
        begun = []
        for piece in filter(None, pieces):
            function = piece.get("function") or piece
            whole = string_of(function.get("name"))
            name = repair_text(whole[:LONGEST_NAME])
            arguments = next((function[key] for key in _ARGUMENTS if key in function), None)
            call = self._call_of(piece, name, arguments)
            if name and not call.name:
                begun.append(CallBegun(called_name(name)))
            if name and (not call.name or (name != call.name and not call.arguments)):
                self._allowance.take(len(whole))
                # Some repeat the name as far as it is known, some send it in pieces.
                call.name = name if name.startswith(call.name) else call.name + name
                call.name = call.name[:LONGEST_NAME]
            self._take_rest(call, piece, arguments)
        return begun

    @property
    def begun(self) -> bool:
        return bool(self._calls)

    def _take_rest(self, call: _Call, piece: Mapping[str, Any], arguments: Any) -> None:
        if not call.id and (id := string_of(piece.get("id"))):
            self._allowance.take(len(id))
            call.id = id
        extra = piece.get("extra_content")
        if extra and extra != call.extra:
            self._allowance.take(size_of(extra))
            call.extra = extra
        if arguments:
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            self._allowance.take(len(text))
            call.arguments.append(text)
            call.length += len(text)

    def called(self) -> tuple[WrittenCall, ...]:
        """Return all calls, each with an id of its own."""
        return tuple(
            WrittenCall(id=id, name=called_name(call.name), arguments=call.written)
            for id, call in zip(self._own_ids(), self._calls, strict=True)
        )

    def extras(self) -> dict[str, object]:
        """Return what the server wants back with a call, by the call's id."""
        pairs = zip(self._own_ids(), self._calls, strict=True)
        return {id: call.extra for id, call in pairs if call.extra}

    def _call_of(self, piece: Mapping[str, Any], name: str, arguments: Any) -> _Call:
        index, id = piece.get("index"), string_of(piece.get("id"))
        call = self._at(index, id, name, more=bool(arguments))
        if call is not None and name and call.name:
            another = bool(id and call.id and id != call.id)
            # A name may be repeated with every piece, but nothing follows arguments that are whole.
            more = bool(arguments) or name != call.name or not id
            if another or (bool(call.arguments) and more and self._is_whole(call)):
                call = None
        if call is None:
            self._allowance.take_call()
            call = _Call(index)
            self._calls.append(call)
        elif index is not None:
            call.index = index
        return call

    def _is_whole(self, call: _Call) -> bool:
        self._may_read -= call.length
        if self._may_read < 0:
            raise TooLong
        return call.whole

    def _at(self, index: int | None, id: str, name: str, *, more: bool) -> _Call | None:
        """The newest call that the piece may belong to. An id that is known says more than an
        index, which some servers use twice; an unknown one says nothing, since some make a new id
        for every piece."""
        newest = self._calls[::-1]
        by_id = [call for call in newest if id and call.id == id]
        by_index = [call for call in newest if index is not None and call.index == index]
        both = [call for call in by_id if call.index == index]
        if both or (by_id and by_index) or index is None:
            found = both or by_id
            return found[0] if found else newest[0] if newest and not name else None
        if by_index:
            return by_index[0]
        # Under a new index: the rest of a call that began under another one.
        unwritten = [call for call in by_id if not call.arguments]
        if unwritten and (not name or (more and name == unwritten[0].name)):
            return unwritten[0]
        return newest[0] if newest and not name and (by_id or not id) else None

    def _own_ids(self) -> list[str]:
        if self._ids is None:
            self._ids = own_ids(call.id for call in self._calls)
        return self._ids
