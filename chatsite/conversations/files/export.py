"""Writes a conversation to a file and reads it back; also as Markdown or plain text for people.

`History` checks a file; nothing is repaired.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
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
from chatsite.history.anchors import telling_values
from chatsite.history.instructions import still_said
from chatsite.history.settings.table import ROWS
from chatsite.kv_cache.books import LOADED, UNLOADED
from chatsite.messages import Attachment, Message, ToolCall
from chatsite.wording import say

ATTACHMENT_FIELDS = tuple(name for name in Attachment.__slots__ if name != "id")
MARKS = ("pinned", "excluded", "bookmarked")
# Not a provider's name, since it has a blank in it.
ELSEWHERE = "from a file"


# A message of a file under a new id, and the columns of its row that hold its marks.
Imported = tuple[Message, dict[str, Any]]


def write_export(whole: WholePath, *, cleanup: str = "") -> bytes:
    """Write the conversation's active path as indented JSON, UTF-8; `cleanup` is the cache's
    strategy."""
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
        pinned=bool(whole.conversation.pinned),
        archived=bool(whole.conversation.archived),
        folder=whole.conversation.folder or "",
        messages=[
            _to_saved(entry, book, places, bookmarked=entry.seq in whole.bookmarked)
            for entry, book in zip(whole.entries, books, strict=True)
        ],
    )
    text = json.dumps(saved.model_dump(exclude_defaults=True), ensure_ascii=False, indent=1)
    return text.encode()


def _settings(receipt: Mapping[str, Any], cleanup: str) -> SavedSettings | None:
    settings = receipt.get("settings")
    if not settings:
        return None
    settings = {**settings, **settings.get("conversation", {})}
    values = {
        name: settings[name]["value"]
        for name in ROWS
        if name in settings
        and (name in SavedSettings.model_fields or settings[name]["source"] != "built in")
    }
    return SavedSettings(**values, cleanup=cleanup)


def _books(entries: Sequence[Entry]) -> list[SavedBook]:
    """Leave places out where they contradict each other: such a file would be refused."""
    messages = [entry.message for entry in entries]
    books = [_book(one.kv_size, one.kv_start_position, one.kv_status) for one in messages]
    if not places_fault(books):
        return books
    return [_book(-1, -1, LOADED if one.kv_status == LOADED else UNLOADED) for one in messages]


def _book(size: int, start: int, status: int) -> SavedBook:
    return SavedBook.model_validate({"size": size, "start": start, "status": status})


def _to_saved(
    entry: Entry, book: SavedBook, places: Mapping[int, int], *, bookmarked: bool
) -> SavedMessage:
    message = entry.message
    return SavedMessage(
        role=message.role,
        content=message.content,
        reasoning=message.reasoning,
        attachments=[
            SavedAttachment(**{name: getattr(item, name) for name in ATTACHMENT_FIELDS})
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
        kept_whole=entry.kept_whole,
        unanswered=entry.unanswered,
        in_force=entry.in_force,
        quoted=[places[seq] for seq in entry.quoted if seq in places],
        kv=book,
    )


def check_export(content: bytes) -> SavedConversation:
    """Read a file, and check it as a whole. Raises BadRestore."""
    saved = parse_export(content)
    History().restore([_message(item) for item in saved.messages])
    return saved


def title_of(saved: SavedConversation) -> str:
    return saved.title.strip() or "Restored chat"


def import_part(saved: Sequence[SavedMessage]) -> list[Imported]:
    """Give some messages of a checked file new ids, so that a file can be imported repeatedly. None
    is in the cache; unloaded ones stay unloaded."""
    part: list[Imported] = []
    asked = ""
    for item in saved:
        text = item.content or ""
        marks: dict[str, Any] = {name: getattr(item, name) for name in MARKS}
        marks["kept_whole"] = item.kept_whole or None
        # The first message has seq 1, and none is left out.
        marks["quoted"] = [place + 1 for place in item.quoted]
        if item.unanswered:
            marks["state"] = "failed"
        if item.role == "user":
            asked = text
            marks["in_force"] = still_said(item.in_force, text) or None
        elif item.role == "tool":
            marks["anchors"] = telling_values(text, asked)
        part.append((_message(item), marks))
    return part


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
        # Under no provider's name, so that no provider sends what the author of a file wrote. A
        # signature of another installation is worthless here anyway.
        metadata=_engines_own(item)
        or (json.dumps({ELSEWHERE: item.metadata}) if item.metadata else ""),
        source=item.source,
        speaker=item.speaker,
        kv_status=LOADED if item.kv.status == LOADED else UNLOADED,
    )


def _engines_own(item: SavedMessage) -> str:
    """Return an answer's token ids, "" where they aren't well formed. No other metadata is taken
    over unwrapped: the engine checks that the ids decode to the answer's own text."""
    if item.role != "assistant" or not item.metadata:
        return ""
    try:
        metadata = json.loads(item.metadata)
        engine = metadata.pop("engine")
        model, ids = engine.pop("model"), engine.pop("ids")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    # A token is at least one byte of the text.
    most = len((item.content or "").encode())
    sound = isinstance(ids, list) and 0 < len(ids) <= most and isinstance(model, str)
    if (
        metadata
        or engine
        or not sound
        or not all(type(id) is int and 0 <= id < 2**31 for id in ids)
    ):
        return ""
    return json.dumps({"engine": {"model": model, "ids": ids}}, separators=(",", ":"))


def original_metadata(metadata: str) -> str:
    """Return the metadata as the imported file had it, or as it is stored."""
    try:
        stored = json.loads(metadata) if ELSEWHERE in metadata else None
    except ValueError:
        return metadata
    original = stored.get(ELSEWHERE) if isinstance(stored, dict) else None
    return original if isinstance(original, str) else metadata


def write_readable(whole: WholePath, *, marked: bool, agent: str) -> str:
    """Write the messages of the active path, oldest first, with the model and the memory of the
    last answer at the top, so that a reader knows what the model had seen. Of tools only the names
    of their calls are told. `marked`: as Markdown; `agent` is its name."""
    title = whole.conversation.title or say("Conversation")
    parts = [f"# {title}" if marked else title]
    started = whole.conversation.created[:16].replace("T", " ")
    parts.append(say("A conversation with {agent}, {time} UTC.", agent=agent, time=started))
    receipt = show_receipt(whole.receipt or {})
    if model := receipt.get("asked", {}).get("model"):
        memory = receipt.get("in_words", "")
        parts.append(say("At the last answer {model} saw: {memory}.", model=model, memory=memory))
    for entry in whole.entries:
        parts += _readable_message(entry, agent=agent, marked=marked)
    return "\n\n".join(parts) + "\n"


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


def imported_model(metadata: str) -> str:
    """Return the model that wrote an imported answer in another program, "" for none."""
    try:
        found = json.loads(original_metadata(metadata)) if ELSEWHERE in metadata else None
    except (ValueError, RecursionError):
        return ""
    model = found.get("model") if isinstance(found, dict) else None
    return model if isinstance(model, str) else ""
