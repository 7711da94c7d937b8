"""What was gathered before a decision, because `decide` never waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Previous:
    """The last request on this path, from its receipt.

    `sent` holds runs of (first seq, last seq); on the path of that receipt a run has no gaps.
    `cut` is where the guard began the tail, None when it cut nothing; `under` are the settings
    it cut under: a cut is kept only while they stay.
    """

    head_hash: str
    sent: tuple[tuple[int, int], ...]
    cut: int | None = None
    under: str = ""

    @classmethod
    def from_dict(cls, receipt: Mapping[str, object]) -> Previous | None:
        """None for a receipt that can't be read: then the next request starts afresh."""
        try:
            return cls._read(receipt)
        except (KeyError, TypeError, ValueError):
            return None

    @classmethod
    def _read(cls, receipt: Mapping[str, object]) -> Previous:
        match receipt:
            case {"head": {"hash": str(head_hash)}, "verdicts": list(verdicts)}:
                sent = tuple(
                    (int(verdict["first"]), int(verdict["last"]))
                    for verdict in verdicts
                    if verdict["sent"] is True and verdict["first"] > 0
                )
            case _:
                raise ValueError("not a receipt")
        cut, under = receipt.get("cut"), receipt.get("under")
        return cls(
            head_hash=head_hash,
            sent=sent,
            cut=cut if isinstance(cut, int) else None,
            under=under if isinstance(under, str) else "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """`reply_to` holds ids of messages replied to, besides the one the current message names."""

    previous: Previous | None = None
    reply_to: frozenset[str] = frozenset()


NO_EVIDENCE = Evidence()
