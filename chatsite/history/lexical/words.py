"""Text to index terms: words, and pairs of characters where a script writes without spaces.

The stop list and the stemmer know English and touch nothing but ASCII words; other languages get
their words as they are. A function word that no list knows costs little: it is in most messages,
and what is in most messages weighs next to nothing.

English only: a question in another language gives no cue, and is none the worse for it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import datetime

from chatsite.messages import Role

STOP = frozenset(
    """
    a about after again all also am an and any are aren as at be because been before being both but
    by can can't cannot could couldn couldn't d did didn didn't do does doesn doesn't doing don
    don't down during each for from further get gets getting go going got gotten had hadn hadn't has
    hasn hasn't have haven haven't having he her here hers herself him himself his how i i'd i'll
    i'm i've if in into is isn isn't it it's its itself just let let's ll m me more most my myself
    no nor not now of off on once only or other our ours ourselves out over own re s same she should
    so some such t than that that's the their theirs them themselves then there there's these they
    they're this those through to too under until up us ve very was wasn wasn't we we're were weren
    what what's when where which while who whom whose why will with won won't would wouldn wouldn't
    you you'd you'll you're you've your yours yourself yourselves
    hello hey hi ok okay please thank thanks wow yeah yep yes
    """.split()
)

# Scripts without spaces: Thai and Lao, Myanmar, Khmer, kana, Han (with its iteration mark).
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# Marks that belong to a word though they are no letters: accents, Hebrew and Arabic points, the
# vowel signs of India (their blocks less the danda), Tibet's.
MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f"
    "\u0900-\u0963\u0966-\u0dff\u0f71-\u0f84"
)
_ASCII = re.compile(r"[A-Za-z0-9]+(?:'[A-Za-z]+)?")
_WORD = re.compile(rf"(?P<unspaced>[{UNSPACED}]+)|(?:(?![{UNSPACED}_])[\w{MARKS}])+(?:'[a-z]+)?")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


def terms(text: str) -> list[str]:
    """The index terms of a text in order, repeated as often as they occur."""
    return [term for _, term in spelled(text)]


def spelled(text: str) -> Iterator[tuple[str, str]]:
    """Pairs of a word as it was written and its index term."""
    if text.isascii():
        yield from _ascii(_ASCII.findall(text))
        return
    for found in _WORD.finditer(unicodedata.normalize("NFKC", text).replace("\u2019", "'")):
        word = found[0]
        if found["unspaced"]:
            yield from ((part, part) for part in _parts(word))
        elif word.isascii():
            yield from _ascii([word])
        else:
            yield word, word.casefold()


def _ascii(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        whole = word.lower()
        base = whole.partition("'")[0]
        if whole not in STOP and base not in STOP:
            yield word, stem(base)


def _parts(run: str) -> Iterator[str]:
    """Neighbouring characters in pairs, and each Han character, which can be a word of its own."""
    for pair in zip(run, run[1:], strict=False):
        yield "".join(pair)
    yield from (run if len(run) == 1 else _HAN.findall(run))


def stem(word: str) -> str:
    """An ASCII word without its English endings: "studies" and "studied" meet in "studi"."""
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]
    for ending in ("ing", "ed"):
        base = word[: -len(ending)]
        if word.endswith(ending) and len(base) >= 3 and any(c in "aeiouy" for c in base):
            doubled = base[-1] == base[-2] and base[-1] not in "lsz"
            word = base[:-1] if doubled else base
            break
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    if word.endswith("y") and len(word) > 3:
        word = word[:-1] + "i"
    return word


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
# People who go on with their work say something before they ask ("I've set it up, how ..."), or ask
# for advice or help. Of the messages in BEAM's chats that are one question 93 % do the one or the
# other, and 2 of 1,648 questions of BEAM and LoCoMo about what was said before.
_GOES_ON = re.compile(
    r"^\W*(?:i|i'm|i've|i'd|my|we|we're|we've|hm+|oh|ok|okay|yeah|cool|thanks)\b"
    r"|\b(?:how|what) (?:can|do|should|could|would) (?:i|we)\b"
    r"|\b(?:can|could|should|shall) (?:i|we)\b|\bhelp me\b|\bdo you (?:think|have any)\b"
    r"|\b(?:can|could|would|will) you (?!remind|recall|tell)"
    r"|\bwhat(?:'s| is) the best\b|\bwhat (?:if|about)\b|\bhow about\b",
    re.IGNORECASE,
)
# Full stops of scripts without blanks end a sentence too; a point inside a number does not.
_SENTENCE_END = re.compile(r"(?<=[.!?\u0964\u061f])\s+|(?<=[\u3002\uff01\uff1f])\s*|\s*\n\s*")
_MONTHS = (
    "january february march april may june july august september october november december"
).split()
# Of a text in small letters: where case doesn't count, this search takes three times as long.
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|recently|lately|earlier|soon|upcoming|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekends?|"
    r"(?:last|next|this|past|previous|following|few|every|couple of) "
    r"(?:\w+ )?(?:night|day|week|weekend|month|year|spring|summer|autumn|fall|winter)s?|"
    rf"{'|'.join(_MONTHS)}|(?:19|20)\d\d|\d+(?:st|nd|rd|th)|"
    r"\d{1,2}(?::\d\d)? ?[ap]m|since|until|(?:a|an|one|two|three|four|five|\d+) "
    r"(?:day|week|month|year)s?)\b"
)


def author_meant(question: str) -> Role | None:
    """Whose messages the question is about: "you said" the assistant's, "I" and "my" the user's."""
    if _YOU.search(question):
        return "assistant"
    return "user" if _I.search(question) else None


def asks_when(question: str) -> bool:
    return _WHEN.search(question) is not None


def tells_time(text: str) -> bool:
    return _TIME.search(text.lower()) is not None


def is_question(text: str) -> bool:
    """In any script that has a question mark."""
    return "?" in text or "\uff1f" in text or "\u061f" in text


def date_terms(at: datetime) -> list[str]:
    """The words by which people name a day, as index terms."""
    return terms(f"{at.day} {_MONTHS[at.month - 1]} {at.year}")


def asks_only(text: str) -> bool:
    """Whether a message is one question about something and nothing else: what its answer needs is
    elsewhere. Not one that goes on with what was talked about last."""
    sentences = [part for part in _SENTENCE_END.split(text.strip()) if part]
    plain = len(sentences) == 1 and is_question(sentences[0][-1])
    return plain and _GOES_ON.search(text.replace("\u2019", "'")) is None
