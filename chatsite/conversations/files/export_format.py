"""The format of a saved conversation's file, and the checks on reading one."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from chatsite.errors import BadRestore
from chatsite.files.folder import safe_name
from chatsite.history.settings.grammar import Unreadable
from chatsite.history.settings.table import ROWS
from chatsite.messages import MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS, Modality, Role, Source
from chatsite.wording import later, say

FORMAT = "chatsite.conversation"
# Version 1 had no settings, marks or places in the cache, version 2 no choice that is kept with the
# conversation; both can still be read.
VERSION = 3
READ = (1, 2, VERSION)
_NOTHING_IMPORTED = later("Nothing was imported.")
_NOTHING_MORE = ConfigDict(extra="forbid", strict=True)


def _storable(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("nul", say("it holds the character NUL"))
    return text


def _is_json(value: dict[str, Any]) -> dict[str, Any]:
    """Refuse NaN, Infinity and NUL: a file may hold them, the database can't store them."""
    try:
        text = json.dumps(value, allow_nan=False)
    except ValueError:
        raise PydanticCustomError("nan", say("a number in it is not a JSON number")) from None
    if _NUL.search(text):
        raise PydanticCustomError("nul", say("it holds the character NUL"))
    return value


# An escaped NUL in JSON, but not an escaped backslash before "u0000".
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
Text = Annotated[str, AfterValidator(_storable)]
Json = Annotated[dict[str, Any], AfterValidator(_is_json)]
ShortText = Annotated[Text, Field(max_length=80)]
# More names than there are to choose; unknown ones are left out.
MAX_CHOSEN = 20
MAX_MESSAGES = 150_000
# Of one message: what is sent has at most MAX_ATTACHMENTS, and calls are a model's.
MAX_CALLS = 200
MAX_QUOTED = 1_000
# Of one side of a picture, and of a place in the engine's cache: more isn't stored anywhere.
MOST_PIXELS = 1_000_000
MOST_CELLS = 2**31 - 1


class SavedCall(BaseModel):
    model_config = _NOTHING_MORE
    id: Text
    name: Text
    arguments: Json = {}


class SavedAttachment(BaseModel):
    """Holds facts about a file, without its content; `id` is ignored."""

    model_config = _NOTHING_MORE
    id: Text = ""
    name: Annotated[Text, Field(max_length=255), AfterValidator(safe_name)]
    size: Annotated[int, Field(ge=1, le=MAX_ATTACHMENT_BYTES)]
    modality: Modality
    mime_type: Annotated[Text, Field(max_length=100)] | None = None
    width: Annotated[int, Field(ge=0, le=MOST_PIXELS)] = 0
    height: Annotated[int, Field(ge=0, le=MOST_PIXELS)] = 0
    characters: Annotated[int, Field(ge=0, le=MAX_ATTACHMENT_BYTES)] = 0


class SavedBook(BaseModel):
    """Holds the message's place in the engine's cache when it was saved, in tokens; -1 is none.
    `status`: 1 loaded, 0 marked for cleanup, -1 unloaded."""

    model_config = _NOTHING_MORE
    size: Annotated[int, Field(ge=-1, le=MOST_CELLS)] = -1
    start: Annotated[int, Field(ge=-1, le=MOST_CELLS)] = -1
    status: Literal[-1, 0, 1] = 1

    @property
    def fault(self) -> str:
        """Return a contradiction within this place, or ""."""
        if self.size == 0:
            return say("a message takes at least one cell")
        if self.start >= 0 and self.size < 0:
            return say("it begins at {start} and has no size", start=self.start)
        if self.start >= 0 and self.status < 0:
            return say("it is unloaded and begins at {start}", start=self.start)
        if self.start < 0 and self.status == 0:
            return say("it is marked for cleanup and lies nowhere")
        if self.start < 0 and self.status == 1 and self.size > 0:
            return say("it is loaded and lies nowhere")
        return ""


class SavedMessage(BaseModel):
    """Holds a message of the file. `metadata` is the provider's own text, kept byte for byte.
    `quoted` are the messages that were quoted before the question that this one answers, by their
    places in the file from 0."""

    model_config = _NOTHING_MORE
    role: Role
    content: Text | None = None
    reasoning: Text | None = None
    attachments: Annotated[list[SavedAttachment], Field(max_length=MAX_ATTACHMENTS)] = []
    calls: Annotated[list[SavedCall], Field(max_length=MAX_CALLS)] = []
    call_id: Annotated[Text, Field(max_length=200)] | None = None
    metadata: Text = ""
    source: Source = "web"
    speaker: Annotated[Text, Field(max_length=200)] = ""
    pinned: bool = False
    excluded: bool = False
    bookmarked: bool = False
    kept_whole: bool = False
    unanswered: bool = False
    in_force: Text = ""
    quoted: Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=MAX_QUOTED)] = []
    kv: SavedBook = SavedBook()


class SavedSettings(BaseModel):
    """Holds the history settings of the last turn: these always, any other of the table where
    somebody set it. `cleanup` is the cache's strategy."""

    model_config = ConfigDict(extra="allow", strict=True)
    __pydantic_extra__: dict[str, str | int | float | bool]
    policy: ShortText
    length: Annotated[int, Field(ge=0, le=MOST_CELLS)]
    tokens: Annotated[int, Field(ge=1, le=MOST_CELLS)] | None = None
    low_water: Annotated[int, Field(ge=-MOST_CELLS, le=MOST_CELLS)] | None = None
    step: Annotated[int, Field(ge=-MOST_CELLS, le=MOST_CELLS)] | None = None
    selector: ShortText = ""
    cleanup: ShortText = ""

    @model_validator(mode="after")
    def _know_the_others(self) -> SavedSettings:
        for name, value in self.__pydantic_extra__.items():
            if name not in ROWS:
                raise PydanticCustomError("setting", say("it holds what is no setting"))
            try:
                ROWS[name].grammar.read_json(value)
            except Unreadable:
                bad = say("it holds a value that isn't allowed")
                raise PydanticCustomError("setting", bad) from None
        return self


class SavedConversation(BaseModel):
    """Holds the whole file. `history` is the choice of a policy and its settings that is kept with
    the conversation, by the names of a link's parameters; `asked` are the parameters of the last
    request besides its messages. The first `forget_above` messages are above the marker. `pinned`,
    `archived` and `folder` say where it stood in the sidebar."""

    model_config = _NOTHING_MORE
    format: str
    version: int
    agent: str = Field(max_length=64)
    title: Text
    created: str = ""
    settings: SavedSettings | None = None
    history: Annotated[dict[ShortText, ShortText], Field(max_length=MAX_CHOSEN)] = {}
    asked: Json = {}
    forget_above: Annotated[int, Field(ge=0)] = 0
    pinned: bool = False
    archived: bool = False
    folder: Annotated[Text, Field(max_length=60)] = ""
    messages: Annotated[list[SavedMessage], Field(max_length=MAX_MESSAGES)]


class _Stated(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    format: str
    version: int


def parse_export(content: bytes) -> SavedConversation:
    """Read a file, and check it. Raises BadRestore with the place and the reason."""
    try:
        saved = SavedConversation.model_validate_json(content)
    except ValidationError as error:
        _require_ours(content)
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        if not place:
            raise not_imported(say("This file isn't a Chatsite export.")) from None
        raise not_imported(
            say(
                "This file isn't a Chatsite export: {place}: {first}.",
                place=place,
                first=first["msg"],
            )
        ) from None
    _require_format(saved.format, saved.version)
    _require_marks(saved)
    if fault := places_fault([message.kv for message in saved.messages]):
        raise not_imported(say("messages.{fault}.", fault=fault))
    return saved


def not_imported(reason: str) -> BadRestore:
    """Return the error with this reason; it says that nothing was imported."""
    return BadRestore(f"{reason} {say(_NOTHING_IMPORTED)}")


def _require_ours(content: bytes) -> None:
    """Report another format first: its other fields may well be unknown here."""
    try:
        stated = _Stated.model_validate_json(content)
    except ValidationError:
        return
    _require_format(stated.format, stated.version)


def _require_format(format: str, version: int) -> None:
    if format != FORMAT or version not in READ:
        versions = f"{', '.join(map(str, READ[:-1]))} and {READ[-1]}"
        raise not_imported(
            say(
                "This file's format is {format!r} {version}; {ours!r} {known} can be imported.",
                format=format[:80],
                version=version,
                ours=FORMAT,
                known=versions,
            )
        )


def _require_marks(saved: SavedConversation) -> None:
    for place, message in enumerate(saved.messages):
        if message.pinned and message.excluded:
            raise not_imported(
                say("messages.{place}: it is both pinned and left out.", place=place)
            )
        if message.unanswered and message.role != "user":
            raise not_imported(
                say("messages.{place}: only a user's message can be unanswered.", place=place)
            )
        if any(source >= place for source in message.quoted):
            raise not_imported(
                say(
                    "messages.{place}.quoted: only messages above it can be quoted before it.",
                    place=place,
                )
            )
    if saved.forget_above > len(saved.messages):
        raise not_imported(
            say(
                "forget_above: {forget_above} messages stand above the marker, and there "
                "are {messages}.",
                forget_above=saved.forget_above,
                messages=len(saved.messages),
            )
        )


def places_fault(books: Sequence[SavedBook]) -> str:
    """Return the first contradiction in a path's places, or "". Loaded messages follow each other,
    with gaps for text that belongs to no message."""
    end, last = 0, -1
    for place, book in enumerate(books):
        fault = book.fault
        if not fault and 0 <= book.start < end:
            fault = say(
                "it begins at {start}, inside messages.{last}, which ends at {end}",
                start=book.start,
                last=last,
                end=end,
            )
        if fault:
            return say("{place}.kv: the books don't add up: {fault}", place=place, fault=fault)
        if book.start >= 0:
            end, last = book.start + book.size, place
    return ""
