"""Makes a title of what a model answered when it was asked for one. Pure."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 60
# Six are asked for, and some models count badly.
MOST_WORDS = 9
# Beyond that it is no answer to the question.
READ_CHARACTERS = 4_000

_THOUGHTS = re.compile(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.I)
_LABEL = re.compile(
    r"^(?:(?:the|a|chat|suggested) ){0,3}(?:title|titel|titre|título|titolo|标题|標題|タイトル)"
    r"(?: is)?\s*[:：=-]\s*",
    re.I,
)
_BEGINS = re.compile(r"^(?:#{1,6}\s+|[-*+•]\s+|>\s*|\d{1,2}[.)]\s+)")
_MARKS = re.compile(r"\*+|`+|~~|\$\$|__|(?<=\])\([^()]*\)|</?[a-zA-Z]{1,10}>")
_QUOTES = ('""', "“”", "„“", "„”", "””", "«»", "»«", "‹›", "''", "‘’", "‚‘", "「」", "『』", "[]")
_LAST = ".。．,，;；:：-–—… "
_REFUSALS = re.compile(
    r"^(?:i['’]?m sorry|sorry\b|i can(?:['’]?t|not)\b|i(?:['’]m| am) (?:sorry|unable)|as an ai\b|"
    r"i (?:do not|don['’]t|won['’]t)\b|unfortunately\b|i apologi[sz]e|(?:es )?tut mir leid|"
    r"leider\b|ich kann\b|als ki\b|(?:je suis )?désolée?\b|je ne peux\b|lo siento|no puedo\b)",
    re.I,
)
_CHATTER = re.compile(r"^(?:sure|certainly|of course|okay|here is|here['’]s)\b|[:：]$", re.I)
_SAYS_NOTHING = frozenset(("new chat", "untitled", "no title", "none", "chat", "title"))


def clean_title(text: str, *, prompt: str) -> str | None:
    """Return the title that a model's answer holds: one line of at most `LONGEST` characters. None
    where there is none that says more than the first words of `prompt`, the question of the chat:
    an empty or long answer, a refusal, the question itself."""
    for line in _THOUGHTS.sub("\n", text[:READ_CHARACTERS]).splitlines():
        if line.lstrip().startswith("```") or _CHATTER.search(line.strip(" *")):
            continue
        if title := _bare(line):
            return title if _is_title(title) and not _repeats(title, prompt) else None
    return None


def _bare(line: str) -> str:
    """Return the line without what stands around a title, and what hides or turns text around."""
    shown = "".join(" " if unicodedata.category(one)[0] == "C" else one for one in line)
    title, before = " ".join(shown.split()), ""
    while title != before:
        before = title
        title = _LABEL.sub("", _MARKS.sub("", _BEGINS.sub("", title)))
        title = " ".join(title.split()).rstrip(_LAST)
        if len(title) > 1 and title[0] + title[-1] in _QUOTES:
            title = title[1:-1].strip()
    return title


def _is_title(title: str) -> bool:
    return (
        len(title) <= LONGEST
        and len(title.split()) <= MOST_WORDS
        and any(map(str.isalnum, title))
        and title.casefold() not in _SAYS_NOTHING
        and not _REFUSALS.search(title)
    )


def _repeats(title: str, prompt: str) -> bool:
    """Return whether it is the question, or its beginning cut as first words are."""
    asked, said = (
        "".join(filter(str.isalnum, unicodedata.normalize("NFKC", one).casefold()))
        for one in (prompt, title)
    )
    return said == asked or (len(title) > LONGEST // 2 and asked.startswith(said))
