"""Makes a title of what a model answered when it was asked for one. Pure."""

from __future__ import annotations

import json
import re
import unicodedata

LONGEST = 60
# Six are asked for, and some models count badly.
MOST_WORDS = 9
# Beyond that it is no answer to the question.
READ_CHARACTERS = 4_000

_THOUGHTS = re.compile(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.I)
_LABELS = "title|titel|titre|título|titulo|titolo|titul|заголовок|название|标题|標題|タイトル|제목"
_LABEL = re.compile(
    rf"^(?:(?:the|a|chat|suggested|conversation)\s+){{0,3}}(?:{_LABELS})(?:\s+is)?\s*[:：=-]\s*",
    re.I,
)
_BEGINS = re.compile(r"^(?:#{1,6}\s+|[-*+•]\s+|>\s*|\d{1,2}[.)]\s+)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_MARKS = re.compile(r"\*+|`+|~~|\$\$|__|</?[a-zA-Z]{1,10}>")
_QUOTES = (
    '""',
    "“”",
    "„“",
    "„”",
    "””",
    "«»",
    "»«",
    "‹›",
    "''",
    "‘’",
    "‚‘",
    "「」",
    "『』",
    "()",
    "[]",
)
_LAST = ".。．,，;；:：-–—… "
_REFUSALS = re.compile(
    r"^(?:i['’]?m sorry|i am sorry|sorry\b|i can(?:['’]?t|not)\b|i['’]m unable|i am unable|"
    r"i (?:do not|don['’]t|won['’]t|will not)\b|as an ai\b|unfortunately\b|i apologi[sz]e|"
    r"es tut mir leid|tut mir leid|leider\b|ich kann\b|als ki\b|"
    r"je suis désolé|désolé|je ne peux\b|lo siento|no puedo\b)",
    re.I,
)
_CHATTER = re.compile(r"^(?:sure|certainly|of course|okay|here is|here['’]s)\b", re.I)
_SAYS_NOTHING = frozenset(
    ("new chat", "untitled", "no title", "none", "null", "n/a", "chat", "conversation", "title")
)


def clean_title(text: str, *, prompt: str) -> str | None:
    """Return the title that a model's answer holds: one line of at most `LONGEST` characters. None
    where there is none that says more than the first words of `prompt`, the question of the chat:
    an empty or long answer, a refusal, the question itself."""
    for line in _lines(text):
        title = _bare(line)
        if not title or _CHATTER.search(title):
            continue
        return title if _is_title(title) and not _repeats(title, prompt) else None
    return None


def _lines(text: str) -> list[str]:
    """The lines that may be the title, the likeliest first: after a "Title:", then those that
    don't announce it."""
    text = _THOUGHTS.sub("\n", text[:READ_CHARACTERS])
    named = _named(text)
    plain = [line.strip() for line in (named or text).splitlines()]
    lines = [line for line in plain if line and not line.startswith(("```", "~~~"))]
    labelled = [line for line in lines if _LABEL.search(_without_marks(line)) and _bare(line)]
    return labelled + [line for line in lines if len(lines) == 1 or not line.endswith((":", "："))]


def _named(text: str) -> str:
    """The title of an answer in JSON, "" for other answers."""
    begin, end = text.find("{"), text.rfind("}")
    if 0 <= begin < end:
        try:
            found = json.loads(text[begin : end + 1])
        except (ValueError, RecursionError):
            return ""
        if isinstance(found, dict):
            return next((one for one in found.values() if isinstance(one, str)), "")
    return ""


def _bare(line: str) -> str:
    """The line without what stands around a title."""
    # Neither half characters nor what hides or turns text around.
    shown = "".join(c if unicodedata.category(c)[0] != "C" or c == "\u200d" else " " for c in line)
    title, before = " ".join(shown.split()), ""
    while title != before:
        before = title
        title = " ".join(_LABEL.sub("", _without_marks(title)).split()).rstrip(_LAST)
        if len(title) > 1 and title[0] + title[-1] in _QUOTES:
            title = title[1:-1].strip()
    return title


def _without_marks(line: str) -> str:
    return _MARKS.sub("", _LINK.sub(r"\1", _BEGINS.sub("", line)))


def _is_title(title: str) -> bool:
    return (
        len(title) <= LONGEST
        and len(title.split()) <= MOST_WORDS
        and any(character.isalnum() for character in title)
        and title.casefold() not in _SAYS_NOTHING
        and not _REFUSALS.search(title)
    )


def _repeats(title: str, prompt: str) -> bool:
    """Whether it is the question, or its beginning cut as first words are."""
    asked, said = (_letters(one) for one in (prompt, title))
    return said == asked or (len(title) > LONGEST // 2 and asked.startswith(said))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))
