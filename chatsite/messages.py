"""The messages of a conversation, as frozen values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Role = Literal["system", "user", "assistant", "tool"]
Modality = Literal["document", "image", "audio", "video"]
Source = Literal["web", "api", "talk", "email", "scheduled", "briefing"]
Basis = Literal["estimated", "counted", "reported"]

# The weakest first: a sum is only as good as its weakest part.
BASES: tuple[Basis, ...] = ("estimated", "counted", "reported")
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
MODALITIES: tuple[Modality, ...] = ("document", "image", "audio", "video")
# Half a character can't be sent or stored anywhere, and PostgreSQL refuses NUL.
UNSOUND = re.compile("[\x00\ud800-\udfff]")
MAX_ATTACHMENT_BYTES = 50 * 1024 * 1024
# Of one message.
MAX_ATTACHMENTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A reference to a stored file, never its bytes. `size` is in bytes.

    `width` and `height` of an image are in pixels; `characters` is the length of the text that
    can be read in the file. 0: unknown, or none.
    """

    id: str
    name: str
    size: int
    modality: Modality
    mime_type: str | None = None
    width: int = 0
    height: int = 0
    characters: int = 0

    def validate(self) -> None:
        """Raise ValueError unless the reference is complete and within 50 MB."""
        if not self.id or not self.name:
            raise ValueError("an attachment needs an id and a name")
        if self.modality not in MODALITIES:
            raise ValueError(
                f"attachment {self.name}: modality {self.modality!r} is not one of "
                f"{', '.join(MODALITIES)}"
            )
        if not 0 < self.size <= MAX_ATTACHMENT_BYTES:
            raise ValueError(f"attachment {self.name}: size must be 1 byte to 50 MB")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool invocation asked for by the model; `id` matches the result's `call_id`."""

    id: str
    name: str
    arguments: Mapping[str, object] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount:
    """How many tokens a message takes in a request, its role markers included.

    `tokenizer` names who counted; a count by another tokenizer is not comparable.
    """

    count: int
    tokenizer: str
    basis: Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. `content` is None where an assistant only calls tools.

    `metadata` is the provider's own JSON text, opaque to us and kept byte for byte. `speaker` is
    who wrote a user message where that isn't the conversation's owner: somebody in a room, or a
    stranger by mail.
    The kv fields say where the message is in the engine's KV cache: size and start in
    tokens (-1: not committed), status 1 loaded, 0 marked for cleanup, -1 unloaded.
    """

    id: str
    role: Role
    content: str | None = None
    attachments: tuple[Attachment, ...] = ()
    reasoning: str | None = None
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    metadata: str = ""
    source: Source = "web"
    speaker: str = ""
    reply_to: str | None = None
    tokens: TokenCount | None = None
    kv_size: int = -1
    kv_start_position: int = -1
    kv_status: int = 1

    @classmethod
    def system(cls, content: str, *, id: str) -> Message:
        return cls(id=id, role="system", content=content)

    @classmethod
    def user(
        cls,
        content: str | None,
        *attachments: Attachment,
        id: str,
        source: Source = "web",
        speaker: str = "",
        reply_to: str | None = None,
    ) -> Message:
        return cls(
            id=id,
            role="user",
            content=content,
            attachments=attachments,
            source=source,
            speaker=speaker,
            reply_to=reply_to,
        )

    @classmethod
    def assistant(
        cls,
        content: str | None,
        *,
        id: str,
        calls: tuple[ToolCall, ...] = (),
        reasoning: str | None = None,
        metadata: str = "",
    ) -> Message:
        return cls(
            id=id,
            role="assistant",
            content=content,
            calls=calls,
            reasoning=reasoning,
            metadata=metadata,
        )

    @classmethod
    def tool(cls, content: str, *, id: str, call_id: str) -> Message:
        return cls(id=id, role="tool", content=content, call_id=call_id)

    @property
    def is_only_text(self) -> bool:
        """Whether there is text, and no part of a tool call."""
        return bool((self.content or "").strip()) and not (self.calls or self.role == "tool")

    @property
    def has_media(self) -> bool:
        return bool(self.attachments)

    @property
    def total_media_size(self) -> int:
        """Bytes of all attachments together."""
        return sum(attachment.size for attachment in self.attachments)

    def validate(self) -> None:
        """Raise ValueError unless there is text or at least one attachment, all of them valid."""
        if not (self.content or "").strip() and not self.attachments:
            raise ValueError("a message needs text or at least one attachment")
        for attachment in self.attachments:
            attachment.validate()

    def as_read(self) -> Message:
        """The same message as a model reads it: the speaker's name stands before the text."""
        if not self.speaker:
            return self
        return replace(self, content=f"{self.speaker}: {self.content or ''}".rstrip(), speaker="")

    def to_text_only(self) -> Message:
        """The same message without attachments."""
        return replace(self, attachments=())

    def __str__(self) -> str:
        """Role, text and the names of attached files; no media bytes."""
        lines = [f"{self.role}: {self.content or ''}"]
        lines += [f"File: {attachment.name}" for attachment in self.attachments]
        return "\n".join(lines)


def messages_as_read(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The same messages as a model reads them."""
    return tuple([message.as_read() for message in messages])


def plain_text(message: Message) -> str:
    """The text, and a line for each attached file that the text doesn't name."""
    text = message.content or ""
    if not message.attachments:
        return text
    lines = [text] if text else []
    for attachment in message.attachments:
        line = f"File: {attachment.name}"
        if line not in text:
            lines.append(line)
    return "\n".join(lines)


def repair_text(text: str) -> str:
    """Text without NUL and without halves of surrogate pairs: databases can't store them, and
    halves can't be sent. Neighbouring halves are joined; the rest becomes U+FFFD."""
    if not UNSOUND.search(text):
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\ufffd")
