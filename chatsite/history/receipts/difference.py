"""The difference between two requests of a conversation, message by message, from their receipts.

A receipt names the stored messages of its request by ranges, and keeps a mark of each one's text;
storage knows which messages were on the path, and their tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, takewhile
from typing import Any, Literal, NamedTuple

from chatsite.history.decision.receipt import VERSION
from chatsite.history.evidence import StoredRun, read_layout

Stored = Mapping[str, Any]
# "stayed" at the beginning that both requests share; "moved": in both, but behind the place where
# they part, so that no cache has it; "edited": with another text; "cut": shortened, or no longer.
Change = Literal["stayed", "moved", "edited", "cut", "came", "went"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """A request by its stored `receipt`, made by the server `server` ("" where that isn't known) at
    the time `at`, in seconds. `sizes` are the tokens of the messages that were on its path, by
    sequence number and in order; the texts of those in `edited` were changed since."""

    receipt: Stored
    sizes: Mapping[int, int]
    at: float = 0.0
    server: str = ""
    edited: frozenset[int] = frozenset()


class Piece(NamedTuple):
    """A message, or all that is said of the model, the tools or the agent. `name` is the same in
    both requests, and `text` where it reads the same; `seq` is 0 for what isn't stored, `cut` as in
    a run."""

    kind: str
    name: tuple[object, ...]
    tokens: int
    text: str = ""
    seq: int = 0
    cut: int = 0

    def changed_from(self, before: Piece) -> Change | None:
        """Where a receipt has no marks, the same message is taken to have the same text."""
        if self.cut != before.cut:
            return "cut"
        return "edited" if self.text and before.text and self.text != before.text else None


# About what a line takes that stands for something else; a cut text has a token for four letters.
_LINE = 30
Difference = tuple[tuple[Change, Piece], ...]


def compare_requests(before: SentRequest, now: SentRequest) -> Difference:
    """All pieces in the order of the request, with those that went in their former places. Raises
    KeyError, TypeError or ValueError for a receipt of a version before."""
    return tuple(_merge(_pieces(before), _pieces(now)))


def _merge(old: list[Piece], new: list[Piece]) -> Iterator[tuple[Change, Piece]]:
    pairs = takewhile(
        lambda pair: pair[0].name == pair[1].name and not pair[1].changed_from(pair[0]),
        zip(old, new, strict=False),
    )
    same = len(list(pairs))
    yield from (("stayed", piece) for piece in new[:same])
    former, names = {piece.name: piece for piece in old}, {piece.name for piece in new[same:]}
    rest = old[same:][::-1]
    for piece in new[same:]:
        while rest and rest[-1].name not in names:
            yield "went", rest.pop()
        if rest and rest[-1].name == piece.name:
            rest.pop()
        was = former.get(piece.name)
        yield (piece.changed_from(was) or "moved") if was else "came", piece
    yield from (("went", piece) for piece in reversed(rest) if piece.name not in names)


def segments_of(difference: Difference) -> Iterator[dict[str, Any]]:
    """Neighbours of one kind that fared alike, for the page."""
    for (change, kind), found in groupby(difference, key=lambda one: (one[0], one[1].kind)):
        pieces = [piece for _, piece in found]
        yield {
            "change": change,
            "kind": kind,
            "first": pieces[0].seq,
            "last": pieces[-1].seq,
            "messages": len(pieces),
            "tokens": sum(piece.tokens for piece in pieces),
        }


# ---- a request in pieces ---------------------------------------------------------------------
def _pieces(sent: SentRequest) -> list[Piece]:
    """What was sent, in its order. Together the pieces have the receipt's tokens: storage may have
    counted its messages anew since."""
    receipt = sent.receipt
    if receipt["version"] < VERSION:
        raise ValueError("not as receipts are stored now")
    who, head, messages = receipt.get("provider") or {}, receipt["head"], list(_after_head(sent))
    tools, asked = part_of(receipt, "tools"), receipt.get("asked", {}).get("tools", ())
    described = sum(run["tokens"] for run in receipt["verdicts"] if "first" not in run)
    each = receipt.get("fingerprint", {}).get("each", "")
    size, odd = divmod(len(each), max(1, head["messages"] + len(messages)))
    added = sum(one.tokens for one in messages if not one.seq)
    stored = sum(one.tokens for one in messages if one.seq)
    scale = (receipt["prompt_tokens"] - tools - described - added) / max(1, stored)
    for place, one in enumerate(messages):
        at = (head["messages"] + place) * size
        mark = one.text if odd else each[at : at + size]
        tokens = round(one.tokens * scale) if one.seq else one.tokens
        messages[place] = one._replace(text=mark, tokens=tokens)
    return [
        Piece("model", (who.get("kind"), who.get("model")), 0),
        Piece("tools", ("tools", *asked, tools), tools),
        Piece("system", ("head",), described, head["hash"]),
        *messages,
    ]


def _after_head(sent: SentRequest) -> Iterable[Piece]:
    for item in read_layout(sent.receipt["layout"]):
        if isinstance(item, StoredRun):
            most = _LINE if item.shortened < 0 else item.shortened // 4 or 10**9
            for seq in (seq for seq in sent.sizes if item.first <= seq <= item.last):
                size = min(most, sent.sizes[seq])
                yield Piece("history", (seq,), size, "", seq, item.shortened)
        else:
            # Quotes and dates have the message they stand before; a strategy's texts have no id.
            which = {"recalled": item.id, "date": item.id, "text": item.digest}.get(
                item.kind, item.role
            )
            yield Piece(item.kind, (item.kind, which), item.tokens, item.digest)


def part_of(receipt: Stored, *names: str) -> int:
    """The tokens of these parts of the prompt."""
    found = (receipt["parts"].get(name, 0) for name in names)
    return sum(one[0] if isinstance(one, list) else one for one in found)
