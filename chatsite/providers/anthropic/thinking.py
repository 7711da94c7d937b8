"""A model's thinking as its provider signed it: stored with its message, sent back unchanged.

The API needs it in one place: in the tool rounds of the turn that is being answered. Elsewhere it
is left out, which the API allows, so that a history may be cut and the model may change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from chatsite.messages import Message
from chatsite.providers.base.received import repair_json

DIALECT = "anthropic"
THINKING = frozenset({"thinking", "redacted_thinking"})


def pack_thinking(blocks: Sequence[Mapping[str, Any]], *, by: str, prefix: str) -> str:
    """Return the metadata of an answer, "" where the model didn't think: the thinking unchanged, of
    text and calls only the places, since the message has them; for text also its length.

    `by` is the server and model that thought, `prefix` the digest of all that it had read.
    """
    if not any(block["type"] in THINKING for block in blocks):
        return ""
    packed = [block if block["type"] in THINKING else _place(block) for block in blocks]
    metadata = {DIALECT: {"by": by, "prefix": prefix, "blocks": repair_json(packed)}}
    return json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))


def _place(block: Mapping[str, Any]) -> dict[str, Any]:
    """Text by its length; calls in the order in which the message has them."""
    if block["type"] == "text":
        return {"type": "text", "length": block["length"]}
    return {"type": block["type"]}


def unpack_thinking(
    message: Message, calls: Sequence[dict[str, Any]], *, by: str, prefix: str | None
) -> list[dict[str, Any]] | None:
    """Return the blocks of `message` in their original order, thinking included; `calls` are the
    blocks of its calls. None where it has no thinking that may be sent back: another model's, for a
    text that was changed, or (with a `prefix`) after another beginning."""
    own = _own(message.metadata)
    if own is None or own.get("by") != by or prefix not in (None, own.get("prefix")):
        return None
    try:
        return _put_together(message.content or "", list(calls), own["blocks"])
    except (LookupError, TypeError):
        return None


def _put_together(
    text: str, calls: list[dict[str, Any]], blocks: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]] | None:
    found: list[dict[str, Any]] = []
    start = 0
    for block in blocks:
        if block["type"] in THINKING:
            found.append(dict(block))
        elif block["type"] == "text":
            piece = text[start : start + block["length"]]
            start += block["length"]
            # Blank text is refused, also where the model wrote it.
            found += [{"type": "text", "text": piece}] if piece.strip() else []
        elif calls:
            found.append(calls.pop(0))
        else:
            return None
    return found if start == len(text) and not calls else None


def _own(metadata: str) -> dict[str, Any] | None:
    """The metadata that this dialect wrote; other providers' metadata is ignored."""
    if f'"{DIALECT}"' not in metadata:
        return None
    try:
        stored = json.loads(metadata)
    except ValueError:
        return None
    own = stored.get(DIALECT) if isinstance(stored, dict) else None
    return own if isinstance(own, dict) and isinstance(own.get("blocks"), list) else None


class PrefixDigest:
    """The digest of a request's beginning, updated as it grows: each message is hashed once."""

    def __init__(self, head: object) -> None:
        self._hash = hashlib.sha256(_bytes(head))
        self._taken = 0

    def of(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Return the digest of all `messages`; only the last one may still grow."""
        whole = max(len(messages) - 1, self._taken)
        for message in messages[self._taken : whole]:
            self._hash.update(_bytes(message))
        self._taken = whole
        digest = self._hash.copy()
        for message in messages[whole:]:
            digest.update(_bytes(message))
        return digest.hexdigest()[:32]


def _bytes(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")
