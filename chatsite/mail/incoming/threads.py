"""Tells which thread a mail belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

from chatsite.mail.incoming.reading import MailHead

# For this time a mail with the same subject continues a thread, if no header names one.
SAME_SUBJECT = timedelta(days=30)
_FORWARD = r"fwd?|wg|tr|rv|i|enc|vs|vl|vb|doorst|pd|továbbítás|转发|轉寄|転送|전달|yön|ilt"
_PREFIX = re.compile(
    rf"\s*(?:({_FORWARD})|re|aw|antw|sv|rif|res|odp|ref|ynt|atb|r|回复|答复|回覆|返信|답장)"
    r"(?:\s?\[\d{1,3}\]|\(\d{1,3}\))?\s?[:：]\s*",
    flags=re.IGNORECASE,
)
_TAG = re.compile(r"\s*\[[^\[\]]{1,40}\]\s*")


def answered_ids(mail: MailHead) -> tuple[str, ...]:
    """Lists the Message-IDs that lead to the mail's thread, the closest first."""
    return tuple(dict.fromkeys((*reversed(mail.replied), *reversed(mail.chain))))


def subject_key(subject: str) -> str:
    """Reduces a subject to the words that it shares with its answers' subjects; "" if it has
    none."""
    while found := _PREFIX.match(subject) or _TAG.match(subject):
        subject = subject[found.end() :]
    return " ".join(subject.split()).casefold()


def is_forwarded(subject: str) -> bool:
    """Tells whether the subject begins with a prefix of forwards, such as "Fwd:"."""
    found = _PREFIX.match(_TAG.sub("", subject, count=1))
    return found is not None and found[1] is not None


def chosen_thread(
    ids: tuple[str, ...], *, by_id: Mapping[str, str], by_subject: str | None
) -> str | None:
    """Chooses the conversation that the mail continues; None stands for a new one.

    `by_id` holds the conversations of the sender's own threads by the Message-IDs in them. The id
    of somebody else's thread isn't among them, and begins a new thread like any unknown id. The
    subject decides only if the mail answers nothing: others may use the same subject."""
    if not ids:
        return by_subject
    return next((by_id[id] for id in ids if id in by_id), None)
