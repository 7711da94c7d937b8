"""A conversation as a file and back. What is read is checked by `History`; nothing is repaired."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from chatsite.errors import BadRestore
from chatsite.events import ConversationView
from chatsite.history import History
from chatsite.messages import Attachment, Message, Modality, Role, Source, ToolCall

FORMAT = "chatsite.conversation"
VERSION = 1
KEPT = tuple(name for name in Attachment.__slots__ if name != "id")


def _storable(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("nul", "it holds the character NUL")
    return text


def _is_json(arguments: dict[str, Any]) -> dict[str, Any]:
    """NaN and Infinity are read from a file but can't be stored, and neither can NUL."""
    try:
        text = json.dumps(arguments, allow_nan=False)
    except ValueError:
        raise PydanticCustomError("nan", "a number in it is not a JSON number") from None
    if _NUL.search(text):
        raise PydanticCustomError("nul", "it holds the character NUL")
    return arguments


# An escaped NUL in JSON, not a backslash that was written before "u0000".
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
# No server has a name with blanks in it.
_ELSEWHERE = "from a file"
Text = Annotated[str, AfterValidator(_storable)]


class SavedCall(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    id: Text
    name: Text
    arguments: Annotated[dict[str, Any], AfterValidator(_is_json)] = Field(default_factory=dict)


class SavedAttachment(BaseModel):
    """What is known of a file, not the file: `id` is read and passed over."""

    model_config = ConfigDict(extra="forbid", strict=True)
    id: Text = ""
    name: Annotated[Text, Field(max_length=255)]
    size: int
    modality: Modality
    mime_type: Annotated[Text, Field(max_length=100)] | None = None
    width: Annotated[int, Field(ge=0)] = 0
    height: Annotated[int, Field(ge=0)] = 0
    characters: Annotated[int, Field(ge=0)] = 0


class SavedMessage(BaseModel):
    """`metadata` is the provider's own text, kept byte for byte and never sent (`elsewhere`)."""

    model_config = ConfigDict(extra="forbid", strict=True)
    role: Role
    content: Text | None = None
    reasoning: Text | None = None
    attachments: list[SavedAttachment] = Field(default_factory=list)
    calls: list[SavedCall] = Field(default_factory=list)
    call_id: Annotated[Text, Field(max_length=200)] | None = None
    metadata: Text = ""
    source: Source = "web"


class SavedConversation(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    format: str
    version: int
    agent: str = Field(max_length=64)
    title: Text
    created: str = ""
    messages: list[SavedMessage]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A file that was read: its messages have new ids, so that a file restores more than once."""

    agent: str
    title: str
    messages: tuple[Message, ...]


def write_file(conversation: ConversationView, messages: Sequence[Message]) -> bytes:
    """The conversation's active path as indented JSON, UTF-8."""
    saved = SavedConversation(
        format=FORMAT,
        version=VERSION,
        agent=conversation.agent,
        title=conversation.title,
        created=conversation.created,
        messages=[_saved(message) for message in messages],
    )
    text = json.dumps(saved.model_dump(exclude_defaults=True), ensure_ascii=False, indent=1)
    return text.encode()


def _saved(message: Message) -> SavedMessage:
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
        metadata=as_written(message.metadata),
        source=message.source,
    )


def read_file(content: bytes) -> Saved:
    """Raises BadRestore with the place and the reason; nothing is stored then."""
    try:
        saved = SavedConversation.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise BadRestore(
            f"This isn't a conversation saved by Chatsite: {place}: {first['msg']}."
        ) from None
    if saved.format != FORMAT or saved.version != VERSION:
        raise BadRestore(
            f"This file's format is {saved.format!r} {saved.version}; "
            f"{FORMAT!r} {VERSION} can be restored."
        )
    history = History()
    history.restore([_message(item) for item in saved.messages])
    return Saved(
        agent=saved.agent, title=saved.title.strip() or "Restored chat", messages=history.snapshot()
    )


def _message(item: SavedMessage) -> Message:
    return Message(
        id=str(uuid.uuid4()),
        role=item.role,
        content=item.content,
        reasoning=item.reasoning,
        attachments=tuple(
            # Whoever wrote the file may name any id: this one is nobody's.
            Attachment(**each.model_dump() | {"id": str(uuid.uuid4())})
            for each in item.attachments
        ),
        calls=tuple(ToolCall(**each.model_dump()) for each in item.calls),
        call_id=item.call_id,
        metadata=elsewhere(item.metadata),
        source=item.source,
    )


def elsewhere(metadata: str) -> str:
    """A file's metadata as it is kept here: under no provider's name. It is sent along with its
    message and shown nowhere, so whoever wrote the file could put anything into a request; and a
    signature of elsewhere is worth nothing here."""
    return json.dumps({_ELSEWHERE: metadata}) if metadata else ""


def as_written(metadata: str) -> str:
    """What stood in the file that it came from, or as it is."""
    try:
        said = json.loads(metadata) if _ELSEWHERE in metadata else None
    except ValueError:
        return metadata
    found = said.get(_ELSEWHERE) if isinstance(said, dict) else None
    return found if isinstance(found, str) else metadata
