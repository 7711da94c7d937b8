"""What a question gives away besides its words: whose words it is about, and that it asks when.

English only: a question in another language gives no cue, and is none the worse for it.
"""

from __future__ import annotations

import re
from datetime import datetime

from chatsite.history.lexical.words import terms
from chatsite.messages import Role

_YOU = re.compile(
    r"\byou(?:'ve| have| had| also| just| once| first)? "
    r"(?:said|say|told|tell|mentioned|mention|suggested|suggest|recommended|recommend|proposed|"
    r"propose|explained|explain|wrote|write|gave|give|listed|list|answered|advised|advise|called|"
    r"named|described|showed|meant)\b|\byour (?:answer|advice|suggestion|recommendation|"
    r"explanation|list|idea|plan|version|draft|reply|code|example|proposal)s?\b",
    re.IGNORECASE,
)
_I = re.compile(r"\b(?:I|I'm|I've|I'd|I'll|[Mm]y|[Mm]ine|[Mm]yself)\b")
_WHEN = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:time|date|day|week|weekend|month|season|year)\b|"
    r"\bhow long (?:ago|has|have|had)\b|\bhow (?:recently|soon)\b",
    re.IGNORECASE,
)
# Full stops of scripts without blanks end a sentence too; a point inside a number does not.
_SENTENCE_END = re.compile(r"(?<=[.!?\u0964\u061f])\s+|(?<=[\u3002\uff01\uff1f])\s*|\s*\n\s*")
_MONTHS = (
    "january february march april may june july august september october november december"
).split()
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|recently|lately|earlier|soon|upcoming|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekends?|"
    r"(?:last|next|this|past|previous|following|few|every|couple of) "
    r"(?:\w+ )?(?:night|day|week|weekend|month|year|spring|summer|autumn|fall|winter)s?|"
    rf"{'|'.join(month.title() for month in _MONTHS)}|(?:19|20)\d\d|\d+(?:st|nd|rd|th)|"
    r"\d{1,2}(?::\d\d)? ?[ap]m|since|until|(?:a|an|one|two|three|four|five|\d+) "
    r"(?:day|week|month|year)s?)\b",
    re.IGNORECASE,
)


def author_meant(question: str) -> Role | None:
    """Whose messages the question is about: "you said" the assistant's, "I" and "my" the user's."""
    if _YOU.search(question):
        return "assistant"
    return "user" if _I.search(question) else None


def asks_when(question: str) -> bool:
    return _WHEN.search(question) is not None


def tells_time(text: str) -> bool:
    return _TIME.search(text) is not None


def is_question(text: str) -> bool:
    """In any script that has a question mark."""
    return "?" in text or "\uff1f" in text or "\u061f" in text


def date_terms(at: datetime) -> list[str]:
    """The words by which people name a day, as index terms."""
    return terms(f"{at.day} {_MONTHS[at.month - 1]} {at.year}")


def asks_only(text: str) -> bool:
    """Whether a message is one question and nothing else: what its answer needs is elsewhere."""
    sentences = [part for part in _SENTENCE_END.split(text.strip()) if part]
    return len(sentences) == 1 and is_question(sentences[0][-1])
