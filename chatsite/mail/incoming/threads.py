"""Which thread a mail belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

from chatsite.mail.incoming.reading import MailHead

# So long the same subject goes on with a thread, where no header says which.
SAME_SUBJECT = timedelta(days=30)
_FORWARD = r"fwd?|wg|tr|rv|i|enc|vs|vl|vb|doorst|pd|továbbítás|转发|轉寄|転送|전달|yön|ilt"
_PREFIX = re.compile(
    rf"\s*(?:({_FORWARD})|re|aw|antw|sv|rif|res|odp|ref|ynt|atb|r|回复|答复|回覆|返信|답장)"
    r"(?:\s?\[\d{1,3}\]|\(\d{1,3}\))?\s?[:：]\s*",
    flags=re.IGNORECASE,
)
_TAG = re.compile(r"\s*\[[^\[\]]{1,40}\]\s*")


def answered_ids(mail: MailHead) -> tuple[str, ...]:
    """The Message-IDs that lead to its thread, the closest first."""
    return tuple(dict.fromkeys((*reversed(mail.replied), *reversed(mail.chain))))


def subject_key(subject: str) -> str:
    """What is the same of a subject and of its answers'; "" where nothing is left."""
    while found := _PREFIX.match(subject) or _TAG.match(subject):
        subject = subject[found.end() :]
    return " ".join(subject.split()).casefold()


def is_forwarded(subject: str) -> bool:
    found = _PREFIX.match(_TAG.sub("", subject, count=1))
    return found is not None and found[1] is not None


def chosen_thread(
    ids: tuple[str, ...], *, by_id: Mapping[str, str], by_subject: str | None
) -> str | None:
    """The conversation that the mail goes on with; None for a new one.

    `by_id` has the conversations of the sender's own threads by the Message-IDs in them: an id of
    somebody else's thread isn't there, and begins a new one like any unknown id. The subject
    decides only where the mail answers nothing: others may use the same one.
    """
    if not ids:
        return by_subject
    return next((by_id[id] for id in ids if id in by_id), None)
