"""The request of an answered turn, as the provider got it, and its fingerprint."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pydantic_core import to_json

from chatsite.history import Head
from chatsite.history.receipts.replay import StoredRequest, rebuild_messages
from chatsite.messages import Message, messages_as_read
from chatsite.providers.base.files import Files
from chatsite.providers.base.media import FileForm
from chatsite.providers.base.role_order import order_roles
from chatsite.turns.context.file_forms import SentFile, SentForm, own_form, render_files
from chatsite.wording import later, say

CHANGED = later("The text of a message was changed since it was sent.")
BESIDE = later(
    "Pictures, PDFs, sound and video went along as they are: only their names are shown."
)
JOINED = later(
    "Neighbours of one role went as one message, as some servers refuse them: here each is by "
    "itself."
)
SENT = frozenset((*get_args(FileForm), "gone"))
# In place of a digest where a receipt, of a version before, doesn't name a file.
UNKNOWN = "?"
# Hex digits of each message's sha256, to name the one that was changed: one change in 256 is told
# without its place. Receipts of before have four. Of a request with more messages only the whole is
# kept: a receipt stays small.
MARK = 2
# Hex digits of the whole request's sha256; receipts of before have all 64.
WHOLE = 32
MARKED = 2_000
THREADED = 100
# `json.dumps` makes a new one each time it is given anything but its defaults.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltRequest:
    """`messages` in the order in which they were sent; `asked` are the other parameters.

    Texts of files are part of the messages, as they were then; files that were sent as they are
    stay attached.
    `differences` name what isn't as it was sent, a sentence each; empty: byte for byte the same.
    """

    asked: Mapping[str, Any]
    messages: tuple[Message, ...]
    differences: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """`messages` in the form of chat completions."""
        return {
            "asked": dict(self.asked),
            "messages": [_with_file_names(message) for message in self.messages],
            "complete": not self.differences,
            "note": " ".join([*self.differences, *self.notes]),
        }

    @property
    def notes(self) -> list[str]:
        """What is so in every request and isn't seen in `messages`, a sentence each."""
        ordered = order_roles(self.messages, results_as="tool")
        joined = any(len(same.messages) > 1 and same.role != "tool" for same in ordered)
        return [*([say(BESIDE)] if self.files else []), *([say(JOINED)] if joined else [])]

    @property
    def files(self) -> int:
        """How many files were sent as they are."""
        return sum(len(message.attachments) for message in self.messages)


def _with_file_names(message: Message) -> dict[str, Any]:
    """A message whose text is what was sent; the bytes of its files aren't repeated."""
    said = _with_text(message, message.content or "")
    if message.attachments:
        said["files"] = [
            {"name": file.name, "form": own_form(file)} for file in message.attachments
        ]
    return said


def _chat_message(message: Message) -> dict[str, Any]:
    """A message in the form of chat completions, which most providers share; its files are named.

    The same for every provider: a receipt can be compared whoever answered.
    """
    text = "\n".join(
        [
            *([message.content] if message.content else []),
            *(f"File: {attachment.name}" for attachment in message.attachments),
        ]
    )
    return _with_text(message, text)


def _with_text(message: Message, text: str) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id or "", "content": text}
    if not message.calls:
        return {"role": message.role, "content": text}
    return {"role": "assistant", "content": text or None, "tool_calls": _calls(message)}


def _calls(message: Message) -> list[dict[str, Any]]:
    return [
        {
            "id": call.id,
            "type": "function",
            "function": {
                "name": call.name,
                "arguments": json.dumps(dict(call.arguments), ensure_ascii=False),
            },
        }
        for call in message.calls
    ]


def request_fingerprint(messages: Sequence[Message]) -> dict[str, str]:
    """What a receipt keeps to notice a text that was changed in storage: the sha256 of the whole
    request, and the beginning of each message's, one after the other."""
    each = [_sha256(_chat_message(message)) for message in messages_as_read(messages)]
    whole = hashlib.sha256("".join(each).encode()).hexdigest()[:WHOLE]
    marks = "".join(one[:MARK] for one in each) if len(each) <= MARKED else ""
    return {"whole": whole, "each": marks}


async def fingerprint_in_thread(messages: Sequence[Message]) -> dict[str, str]:
    """The same for the turn that asks. 1 us a message, and more for a long one: while it is made of
    a long request in the event loop, everybody else's answers stand still; of a short one, a thread
    costs more."""
    if len(messages) < THREADED:
        return request_fingerprint(messages)
    return await asyncio.to_thread(request_fingerprint, messages)


def _sha256(message: Mapping[str, Any]) -> str:
    """Of its JSON. pydantic writes the same bytes as the standard library in a fifth of the time,
    but refuses half a character."""
    try:
        said = to_json(message)
    except ValueError:
        said = _ENCODER.encode(message).encode("utf-8", "surrogatepass")
    return hashlib.sha256(said).hexdigest()


async def rebuild_request(kept: StoredRequest, head: Head, files: Files) -> RebuiltRequest:
    """Build the request again; `head` is the agent's as it is now, `files` those of the owner.

    Raises KeyError, TypeError or ValueError for what is no receipt.
    """
    messages, differences = rebuild_messages(kept, head)
    messages = messages_as_read(messages)
    if not differences:
        differences = _changed_texts(kept, messages)
    if any(message.attachments for message in messages):
        messages, unlike = await _with_files(kept, messages, files)
        differences += unlike
    asked = kept.receipt.get("asked", {})
    return RebuiltRequest(asked=asked, messages=messages, differences=differences)


async def _with_files(
    kept: StoredRequest, messages: Sequence[Message], files: Files
) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """The messages with each file in the form in which it went, and what isn't as it was."""
    given: defaultdict[str, deque[tuple[SentForm, str]]] = defaultdict(deque)
    for file in kept.receipt.get("given", ()):
        if file["form"] not in SENT:
            raise ValueError("no form of a file")
        given[file["id"]].append((file["form"], file.get("digest", "")))
    unknown: tuple[SentForm, str] = ("name", UNKNOWN)
    then = [
        [given[file.id].popleft() if given[file.id] else unknown for file in message.attachments]
        for message in messages
    ]
    forms = [[form for form, _ in each] for each in then]
    now = await render_files(messages, forms, files)
    went = [file for each in then for file in each]
    unlike = (_unlike(*then, now) for then, now in zip(went, now.given, strict=True))
    return now.messages, tuple(sentence for sentence in unlike if sentence)


def _unlike(form: SentForm, digest: str, now: SentFile) -> str:
    if digest == UNKNOWN:
        return say("How {file} went isn't in this receipt: only its name is shown.", file=now.name)
    if now.form == form:
        if now.digest == digest:
            return ""
        return say("The text of {file} was changed since.", file=now.name)
    if form == "text":
        return say(
            "{file} isn't stored any more: its text, which was sent, can't be shown.", file=now.name
        )
    return say("{file} isn't stored any more: it was sent.", file=now.name)


def _marks(fingerprint: Mapping[str, str], messages: int) -> list[str]:
    """One for each message; none where it was made of another number of messages."""
    each = fingerprint["each"]
    size, rest = divmod(len(each), messages)
    if rest or size < MARK:
        return []
    return [each[start : start + MARK] for start in range(0, len(each), size)]


def _changed_texts(kept: StoredRequest, messages: Sequence[Message]) -> tuple[str, ...]:
    """Nothing is missing; whether every text is what it was. Older receipts don't say."""
    then = kept.receipt.get("fingerprint")
    now = request_fingerprint(messages)
    if not then or then["whole"][:WHOLE] == now["whole"]:
        return ()
    places = {entry.message.id: entry.seq for entry in kept.entries}
    named = [
        say("The text of message {seq} was changed since it was sent.", seq=places[message.id])
        for message, before, after in zip(
            messages, _marks(then, len(messages)), _marks(now, len(messages)), strict=False
        )
        if message.id in places and before != after
    ]
    return tuple(named) or (say(CHANGED),)
