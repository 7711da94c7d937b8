"""Writes a conversation to a file and reads it back. `History` checks it; nothing is repaired."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatsite.conversations.files.export_format import (
    FORMAT,
    VERSION,
    SavedAttachment,
    SavedBook,
    SavedCall,
    SavedConversation,
    SavedMessage,
    SavedSettings,
    parse_export,
    places_fault,
)
from chatsite.conversations.records import WholePath
from chatsite.history import Entry, History, show_receipt
from chatsite.history.settings.table import ROWS
from chatsite.kv_cache.books import LOADED, UNLOADED
from chatsite.messages import Attachment, Message, ToolCall
from chatsite.wording import say

KEPT = tuple(name for name in Attachment.__slots__ if name != "id")
# Not a provider's name, since it has a blank in it.
_ELSEWHERE = "from a file"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedConversation:
    """A file that was read. Its messages get new ids, so that a file can be restored repeatedly.

    No message is in the cache; unloaded ones stay unloaded. `pinned`, `excluded`, `bookmarked` and
    `unanswered` are ids. The first `forget_above` messages are above the marker. `quoted` holds, by
    the id of a message, the places of those that were quoted before its question. `settings` are
    those of the last turn, None where the file has none; `history` is the choice that was kept.
    """

    agent: str
    title: str
    messages: tuple[Message, ...]
    pinned: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    bookmarked: frozenset[str] = frozenset()
    unanswered: frozenset[str] = frozenset()
    forget_above: int = 0
    quoted: Mapping[str, Sequence[int]] = field(default_factory=dict)
    settings: SavedSettings | None = None
    history: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedPart:
    """Some of the messages of an imported conversation, with their marks."""

    messages: tuple[Message, ...]
    pinned: frozenset[str]
    excluded: frozenset[str]
    bookmarked: frozenset[str]
    unanswered: frozenset[str]
    quoted: Mapping[str, Sequence[int]]


def write_export(whole: WholePath, *, cleanup: str = "") -> bytes:
    """The conversation's active path as indented JSON, UTF-8; `cleanup` is the cache's strategy."""
    receipt = show_receipt(whole.receipt or {})
    books = _books(whole.entries)
    places = {entry.seq: place for place, entry in enumerate(whole.entries)}
    saved = SavedConversation(
        format=FORMAT,
        version=VERSION,
        agent=whole.conversation.agent,
        title=whole.conversation.title,
        created=whole.conversation.created,
        settings=_settings(receipt, cleanup),
        history=dict(whole.conversation.history),
        asked=dict(receipt.get("asked", {})),
        forget_above=whole.forget_above,
        messages=[
            _saved(entry, book, places, bookmarked=entry.seq in whole.bookmarked)
            for entry, book in zip(whole.entries, books, strict=True)
        ],
    )
    text = json.dumps(saved.model_dump(exclude_defaults=True), ensure_ascii=False, indent=1)
    return text.encode()


def _settings(receipt: Mapping[str, Any], cleanup: str) -> SavedSettings | None:
    said = receipt.get("settings")
    if not said:
        return None
    said = {**said, **said.get("conversation", {})}
    values = {
        name: said[name]["value"]
        for name in ROWS
        if name in said
        and (name in SavedSettings.model_fields or said[name]["source"] != "built in")
    }
    return SavedSettings(**values, cleanup=cleanup)


def _books(entries: Sequence[Entry]) -> list[SavedBook]:
    """Places are left out where they contradict each other: such a file would be refused."""
    messages = [entry.message for entry in entries]
    books = [_book(one.kv_size, one.kv_start_position, one.kv_status) for one in messages]
    if not places_fault(books):
        return books
    return [_book(-1, -1, LOADED if one.kv_status == LOADED else UNLOADED) for one in messages]


def _book(size: int, start: int, status: int) -> SavedBook:
    return SavedBook.model_validate({"size": size, "start": start, "status": status})


def _saved(
    entry: Entry, book: SavedBook, places: Mapping[int, int], *, bookmarked: bool
) -> SavedMessage:
    message = entry.message
    return SavedMessage(
        role=message.role,
        content=message.content,
        reasoning=message.reasoning,
        attachments=[
            SavedAttachment(**{name: getattr(item, name) for name in KEPT})
            for item in message.attachments
        ],
        calls=[
            SavedCall(id=call.id, name=call.name, arguments=dict(call.arguments))
            for call in message.calls
        ],
        call_id=message.call_id,
        metadata=original_metadata(message.metadata),
        source=message.source,
        speaker=message.speaker,
        pinned=entry.pinned,
        excluded=entry.excluded,
        bookmarked=bookmarked,
        unanswered=entry.unanswered,
        quoted=[places[seq] for seq in entry.quoted if seq in places],
        kv=book,
    )


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


def check_export(content: bytes) -> SavedConversation:
    """The file as it was read, checked as a whole. Raises BadRestore."""
    saved = parse_export(content)
    History().restore([_message(item) for item in saved.messages])
    return saved


def title_of(saved: SavedConversation) -> str:
    return saved.title.strip() or "Restored chat"


def import_part(saved: Sequence[SavedMessage]) -> ImportedPart:
    """Some messages of a file that was checked, under new ids."""
    messages = tuple(_message(item) for item in saved)
    pairs = list(zip(messages, saved, strict=True))
    return ImportedPart(
        messages=messages,
        pinned=frozenset(message.id for message, item in pairs if item.pinned),
        excluded=frozenset(message.id for message, item in pairs if item.excluded),
        bookmarked=frozenset(message.id for message, item in pairs if item.bookmarked),
        unanswered=frozenset(message.id for message, item in pairs if item.unanswered),
        quoted={message.id: item.quoted for message, item in pairs if item.quoted},
    )


def _message(item: SavedMessage) -> Message:
    return Message(
        id=str(uuid.uuid4()),
        role=item.role,
        content=item.content,
        reasoning=item.reasoning,
        attachments=tuple(
            # A new id, because the file could name the id of anybody's upload.
            Attachment(**each.model_dump() | {"id": str(uuid.uuid4())})
            for each in item.attachments
        ),
        calls=tuple(ToolCall(**each.model_dump()) for each in item.calls),
        call_id=item.call_id,
        metadata=_engines_own(item) or wrap_foreign_metadata(item.metadata),
        source=item.source,
        speaker=item.speaker,
        kv_status=LOADED if item.kv.status == LOADED else UNLOADED,
    )


def _engines_own(item: SavedMessage) -> str:
    """An answer's token ids, "" where they aren't well formed. No other metadata is taken over
    unwrapped: the engine checks that the ids decode to the answer's own text."""
    if item.role != "assistant" or not item.metadata:
        return ""
    try:
        said = json.loads(item.metadata)
        engine = said.pop("engine")
        model, ids = engine.pop("model"), engine.pop("ids")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    # A token is at least one byte of the text.
    most = len((item.content or "").encode())
    sound = isinstance(ids, list) and 0 < len(ids) <= most and isinstance(model, str)
    if said or engine or not sound or not all(type(id) is int and 0 <= id < 2**31 for id in ids):
        return ""
    return json.dumps({"engine": {"model": model, "ids": ids}}, separators=(",", ":"))


def wrap_foreign_metadata(metadata: str) -> str:
    """Metadata of a file, stored under no provider's name, so that no provider sends it.

    It is shown nowhere: the author of a file could otherwise put anything into a request. A
    signature of another installation is worthless here anyway."""
    return json.dumps({_ELSEWHERE: metadata}) if metadata else ""


def original_metadata(metadata: str) -> str:
    """The metadata as the imported file had it, or as it is stored."""
    try:
        said = json.loads(metadata) if _ELSEWHERE in metadata else None
    except ValueError:
        return metadata
    found = said.get(_ELSEWHERE) if isinstance(said, dict) else None
    return found if isinstance(found, str) else metadata


def write_readable(whole: WholePath, *, marked: bool, agent: str) -> str:
    """The messages of the active path, oldest first, with the model and the memory of the last
    answer at the top, so that a reader knows what the model had seen. Of tools only the names of
    their calls are told. `marked`: as Markdown; `agent` is its name."""
    title = whole.conversation.title or say("Conversation")
    parts = [f"# {title}" if marked else title]
    parts.append(say("A conversation with {agent}, {time} UTC.", agent=agent, time=_started(whole)))
    receipt = show_receipt(whole.receipt or {})
    if model := receipt.get("asked", {}).get("model"):
        memory = receipt.get("in_words", "")
        parts.append(say("At the last answer {model} saw: {memory}.", model=model, memory=memory))
    for entry in whole.entries:
        parts += _readable_message(entry, agent=agent, marked=marked)
    return "\n\n".join(parts) + "\n"


def _started(whole: WholePath) -> str:
    return whole.conversation.created[:16].replace("T", " ")


def _readable_message(entry: Entry, *, agent: str, marked: bool) -> Iterator[str]:
    message = entry.message
    if message.role == "tool" or message.role == "system":
        return
    who = say("You") if message.role == "user" else agent
    yield f"## {who}" if marked else f"{who}:"
    if message.calls:
        names = ", ".join(call.name for call in message.calls)
        words = say("Used {tools}", tools=names)
        yield f"*{words}*" if marked else f"[{words}]"
    if message.content:
        yield message.content
    for attachment in message.attachments:
        yield say("File: {name}", name=attachment.name)
