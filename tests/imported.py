"""Reads a saved conversation and stores it in one call; the server does both in pieces."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from chatsite.conversations.files.export import ImportedPart, check_export, import_part, title_of
from chatsite.conversations.files.export_format import SavedSettings
from chatsite.conversations.imports.imports import add_imported, begin_import, finish_import
from chatsite.conversations.owners import Owner
from chatsite.messages import Message
from chatsite.storage import ROWS, Pieces, in_pieces
from chatsite.views import ConversationView


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedConversation:
    """A file that was read, with marks as in `ImportedPart`."""

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
    return ImportedConversation(
        agent=saved.agent,
        title=title_of(saved),
        messages=part.messages,
        pinned=part.pinned,
        excluded=part.excluded,
        bookmarked=part.bookmarked,
        unanswered=part.unanswered,
        forget_above=saved.forget_above,
        quoted=part.quoted,
        settings=saved.settings,
        history=saved.history,
    )


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
    """Import these messages, with marks as in `ImportedPart`, into a new conversation."""
    id = begin_import.here(owner=owner, agent=agent, title=title, history=history)
    for start in range(0, len(messages), ROWS):
        add_imported.here(
            conversation=id,
            part=ImportedPart(
                messages=messages[start : start + ROWS],
                pinned=pinned,
                excluded=excluded,
                bookmarked=bookmarked,
                unanswered=unanswered,
                quoted=quoted,
            ),
        )
        yield
    return finish_import.here(conversation=id, forget_above=forget_above)
