"""Reads a saved conversation and stores it in one call; the server does both in pieces."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from chatsite.conversations.files.export import Imported, check_export, import_part, title_of
from chatsite.conversations.files.export_format import SavedSettings
from chatsite.conversations.imports.imports import add_imported, begin_import, finish_import
from chatsite.conversations.owners import Owner
from chatsite.messages import Message
from chatsite.storage import ROWS, Pieces, in_pieces
from chatsite.views import ConversationView


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedConversation:
    """A file that was read. The marks are ids, `quoted` the places in the file, from 0, of what was
    quoted before a message."""

    agent: str
    title: str
    messages: Sequence[Message]
    pinned: Collection[str] = ()
    excluded: Collection[str] = ()
    bookmarked: Collection[str] = ()
    unanswered: Collection[str] = ()
    forget_above: int = 0
    quoted: Mapping[str, Sequence[int]] = field(default_factory=dict)
    settings: SavedSettings | None = None
    history: Mapping[str, str] = field(default_factory=dict)


def read_export(content: bytes) -> ImportedConversation:
    """Raises BadRestore with the place and the reason; nothing is stored then."""
    saved = check_export(content)
    part = import_part(saved.messages)

    def marked(name: str) -> frozenset[str]:
        return frozenset(message.id for message, marks in part if marks[name])

    return ImportedConversation(
        agent=saved.agent,
        title=title_of(saved),
        messages=tuple(message for message, _ in part),
        pinned=marked("pinned"),
        excluded=marked("excluded"),
        bookmarked=marked("bookmarked"),
        unanswered=frozenset(message.id for message, marks in part if "state" in marks),
        forget_above=saved.forget_above,
        quoted={m.id: [seq - 1 for seq in marks["quoted"]] for m, marks in part if marks["quoted"]},
        settings=saved.settings,
        history=saved.history,
    )


def unmarked(messages: Sequence[Message]) -> list[Imported]:
    return [(message, {}) for message in messages]


@in_pieces
def import_conversation(
    *,
    owner: Owner,
    agent: str,
    title: str,
    messages: Sequence[Message],
    pinned: Collection[str] = (),
    excluded: Collection[str] = (),
    bookmarked: Collection[str] = (),
    unanswered: Collection[str] = (),
    forget_above: int = 0,
    quoted: Mapping[str, Sequence[int]] = MappingProxyType({}),
    history: Mapping[str, str] = MappingProxyType({}),
) -> Pieces[ConversationView]:
    """Import these messages, with marks as in `ImportedConversation`, into a new conversation."""
    id = begin_import.here(owner=owner, agent=agent, title=title, history=history)
    part = unmarked(messages)
    for message, marks in part:
        marks |= {"pinned": message.id in pinned, "excluded": message.id in excluded}
        marks |= {"bookmarked": message.id in bookmarked}
        marks["quoted"] = [place + 1 for place in quoted.get(message.id, ())]
        if message.id in unanswered:
            marks["state"] = "failed"
    for start in range(0, len(part), ROWS):
        add_imported.here(conversation=id, part=part[start : start + ROWS])
        yield
    return finish_import.here(conversation=id, forget_above=forget_above)
