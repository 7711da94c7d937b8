"""Turns messages into token ids, framed by the model's own template.

The text of a message is tokenized without control tokens, so no typed text can end a message or
begin one of another role.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from chatsite.kv_cache.books import Book
from chatsite.messages import Message, plain_text
from chatsite.providers.base.role_order import join_texts, order_roles
from chatsite.providers.embedded.client import EngineClient, EngineRefused
from chatsite.providers.embedded.template import Frame, Ids, Speaker

CACHE_BYTES = 8 * 1024 * 1024


class TokenCache:
    """Token ids by the digest of their text; drops the least recently used ones beyond
    `max_bytes`."""

    def __init__(self, *, max_bytes: int = CACHE_BYTES) -> None:
        self._ids: OrderedDict[bytes, array[int]] = OrderedDict()
        self._max_bytes = max_bytes
        self._bytes = 0

    def get(self, text: str) -> array[int] | None:
        key = _digest(text)
        found = self._ids.get(key)
        if found is not None:
            self._ids.move_to_end(key)
        return found

    def put(self, text: str, ids: Ids) -> None:
        key = _digest(text)
        old = self._ids.pop(key, None)
        self._bytes -= _size(old) if old is not None else 0
        self._ids[key] = array("i", ids)
        self._bytes += _size(self._ids[key])
        while self._bytes > self._max_bytes:
            self._bytes -= _size(self._ids.popitem(last=False)[1])

    @property
    def bytes(self) -> int:
        return self._bytes


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _size(ids: array[int]) -> int:
    """Bytes of one entry, with some for the dictionary."""
    return len(ids) * ids.itemsize + 200


class Prompter:
    """Makes prompts and counts messages for one running engine."""

    def __init__(self, client: EngineClient, frame: Frame, *, fingerprint: str) -> None:
        self._client = client
        self._frame = frame
        self._fingerprint = fingerprint
        self._cache = TokenCache()

    async def prompt(self, messages: Sequence[Message], *, answer: str) -> Book:
        """Return the cells of these messages and of the head of the reply `answer`. Raises
        NotAdditive where the template has no frame for this order of speakers."""
        texts = await self._ids(messages)
        return self._frame.join(
            [(speaker(m), m.id, ids) for m, ids in zip(messages, texts, strict=True)],
            answer=answer,
        )

    async def sizes(self, messages: Sequence[Message]) -> list[int]:
        texts = await self._ids(messages)
        return [
            len(ids) + self._frame.around(speaker(message))
            for message, ids in zip(messages, texts, strict=True)
        ]

    def remember(self, text: str, ids: Ids) -> str:
        """Store the ids that the model generated for `text`; returns them as a message's metadata.

        The text might be tokenized to other ids; with the model's own ones the next prompt begins
        exactly like the cells in the slot.
        """
        self._cache.put(text, ids)
        value = {"engine": {"model": self._fingerprint, "ids": list(ids)}}
        return json.dumps(value, separators=(",", ":"))

    async def _ids(self, messages: Sequence[Message]) -> list[Ids]:
        texts = [spoken_text(message) for message in messages]
        found: dict[str, Ids] = {}
        for message, text in zip(messages, texts, strict=True):
            if text not in found and (known := await self._known(message, text)) is not None:
                found[text] = known
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        for text, ids in zip(missing, await self._client.tokenize(missing), strict=True):
            found[text] = ids
            self._cache.put(text, ids)
        return [found[text] for text in texts]

    async def _known(self, message: Message, text: str) -> Ids | None:
        cached = self._cache.get(text)
        if cached is not None:
            return cached
        ids = _stored_ids(message.metadata, self._fingerprint)
        # Where the text may contain the name of a control token, ids of the token itself would give
        # the same text: such a text is tokenized again.
        if ids is None or "<" in text or "[" in text:
            return None
        try:
            if await self._client.detokenize(ids) != text:
                return None
        except EngineRefused:
            return None
        self._cache.put(text, ids)
        return ids


def speaker(message: Message) -> Speaker:
    """The model has no tools: it gets results in the role of the user."""
    return "user" if message.role == "tool" else message.role


def spoken_text(message: Message) -> str:
    """Return a message as text, including its calls or its result."""
    text = plain_text(message)
    if message.role == "tool":
        return f"Result: {text}"
    calls = [
        f"Call: {call.name} {json.dumps(dict(call.arguments), ensure_ascii=False)}"
        for call in message.calls
    ]
    return "\n".join([*([text] if text else []), *calls])


def spoken_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """For a template that must see the whole conversation: it may take one order of roles only."""
    return [
        {
            "role": same.role,
            "content": join_texts((message, spoken_text(message)) for message in same.messages),
        }
        for same in order_roles(messages, results_as="user")
    ]


def _stored_ids(metadata: str, fingerprint: str) -> list[int] | None:
    """The ids in a message's metadata, if this very model generated them. They aren't trusted:
    people may have written the file from which a conversation was restored."""
    if not metadata or fingerprint not in metadata:
        return None
    try:
        engine: Any = json.loads(metadata)["engine"]
        ids = engine["ids"] if engine["model"] == fingerprint else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(ids, list) or not all(type(id) is int and 0 <= id < 2**31 for id in ids):
        return None
    return ids
