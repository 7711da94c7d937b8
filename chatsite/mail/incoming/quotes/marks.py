"""Recognizes the lines that mail programs write above what they quote or forward.

Most of them have a form that is the same in all languages. Words decide only if the form alone
could be somebody's own sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from chatsite.mail.incoming.reading import subject_key

# The line above a signature (RFC 3676).
SIGNATURE = "-- "
# No mail program writes longer ones.
LONGEST_LINE = 500
LONGEST_LEAD = 300
_DEPTH = re.compile(r"(?:\s{0,3}>)+\s?")
# "wrote", which the line above a quote has if it names no address or no time.
_WROTE = re.compile(
    r"\b(?:wrote|writes|quoting|zitat von|schrieb|geschrieben|écrit|escribió|escreveu|scritto|"
    r"schreef|skrev|kirjoitti|napisał\w*|pisze|napsala?|написала?|пишет|пише|yazdı)\b"
    r"|写道|寫道|のメール",
    flags=re.IGNORECASE,
)
_OPENS = re.compile(r"(?:On|Am|Le|El|Il|Em|Op|Den|W dniu|Dnia|Dne|Dňa|På|Vào|Pada|Dana|Στις)\b")
_WHO = re.compile(r"\S@\S")
_TIME = re.compile(r"\b\d{1,2}[:.h]\d{2}\b")
_DATE = re.compile(r"\b(?:19|20)\d{2}\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}")
# "-----Original Message-----" and its translations. With other words the line begins a forward.
_ORIGINAL = re.compile(
    r"origin|ursprüngl|oprindelig|opprinnelig|ursprung|alkuperäi|oorspronkelijk|původní|pôvodn|"
    r"oryginaln|pierwotn|исходн|оригинал|eredeti|orijinal|özgün|πρωτότυπο|元のメッセージ|原始|原邮件|"
    r"原郵件|원본|repl(?:y|ied) message|antwort",
    flags=re.IGNORECASE,
)
# "Begin forwarded message:", as Apple Mail translates it.
_FORWARD = re.compile(
    r"forwarded|weitergeleitet|transféré|réexpédi|reenvia[dt]|inoltrat|encaminhad|doorgestuurd|"
    r"vidarebefordra|videresend|välitet|przekaz|p[rř]eposlan|пере(?:адрес|сыла|слан|силан)|"
    r"ileti|yönlendir|továbbított|redirec[tț]ionat|προωθ|转发|轉寄|転送|전달|הועבר|إعادة توجيه",
    flags=re.IGNORECASE,
)
_DASHED = re.compile(r"\s{0,9}[-‐–—]{2,}[^-‐–—].{2,80}?[-‐–—]{2,}\s*")
_RULE = re.compile(r"\s{0,9}(?:_{20,}|-{20,})\s*")
# "From: Ada", as lines of a block: the name of a field has no digits, and few words.
_FIELD = re.compile(
    r"\s{0,9}[*_]{0,2}([^\W\d_][^:：\d\n]{0,28}?)\s?[*_]{0,2}(?:：|:[*_]{0,2}(?:\s|$))"
)
_FROM = frozenset(
    "from von de da van från fra od lähettäjä feladó от від kimden 差出人 发件人 寄件者 寄件人"
    " 发信人 보낸사람 מאת من από из saatja odesílatel odesilatel expeditor expéditeur remitente"
    " mittente absender afsender avsender nadawca pošiljatelj nuo no dari gönderen откого".split()
)
# Below a mark fewer fields are enough.
FEWEST_FIELDS = 3


def depth_of(line: str) -> tuple[int, str]:
    """Splits a quoted line into the number of its marks and its text."""
    found = _DEPTH.match(line)
    return (found[0].count(">"), line[found.end() :]) if found else (0, line)


def is_forward_mark(line: str, below: Sequence[str], subject: str) -> bool:
    """Tells whether a forward begins with this line; `below` are the texts of the lines below.
    Words between dashes in a language that isn't in our lists count as a forward's, except above a
    mail with the subject of this one."""
    first = next(filter(str.strip, below), "")
    if not (field_of(first) or is_lead(first)) or is_lead(line):
        return False
    line = _plain(line)
    if _FORWARD.search(line):
        return is_dashed(line) or (line.endswith((":", "：")) and len(line) <= 60)
    return is_dashed(line) and not (_ORIGINAL.search(line) or _has_subject(below, subject))


def is_original_mark(line: str) -> bool:
    return is_dashed(line) and _ORIGINAL.search(_plain(line)) is not None


def is_dashed(line: str) -> bool:
    """Tells whether the line is words between dashes."""
    return _DASHED.fullmatch(_plain(line)) is not None


def is_line(line: str) -> bool:
    """Tells whether the line only says that another mail is below."""
    return _RULE.fullmatch(line[:LONGEST_LINE]) is not None or is_original_mark(line)


def is_lead(line: str) -> bool:
    """Tells whether the line is "On Tuesday Ada wrote:" in any language, with who and when."""
    line = _plain(line)
    wrote, who = bool(_WROTE.search(line)), bool(_WHO.search(line))
    is_between = wrote and is_dashed(line)
    if not (line.endswith((":", "：")) or is_between) or len(line) > LONGEST_LEAD:
        return False
    time, date = bool(_TIME.search(line)), bool(_DATE.search(line))
    return wrote + who + time + date >= 2 or is_between or bool(wrote and _OPENS.match(line))


def begins_lead(line: str) -> bool:
    line = _plain(line)
    return any(one.search(line) for one in (_TIME, _DATE)) or _OPENS.match(line) is not None


def field_of(line: str) -> str:
    """Reads the name of the field in a line of a header block, in small letters; "" for none."""
    found = _FIELD.match(line[:LONGEST_LINE])
    return found[1].strip("*_ ").casefold() if found and found[1].count(" ") <= 3 else ""


def is_surely_block(lines: Sequence[str], subject: str) -> bool:
    """Tells whether a block has this mail's subject, or says who sent a mail from which address."""
    if is_from(field_of(lines[0])) and _WHO.search(" ".join(lines)):
        return True
    return _has_subject(lines, subject)


def _has_subject(lines: Sequence[str], subject: str) -> bool:
    key = subject_key(subject)
    values = (re.split("[:：]", line[:LONGEST_LINE], maxsplit=1)[-1] for line in lines)
    return bool(key) and any(subject_key(value.strip("* ")) == key for value in values)


def is_from(field: str) -> bool:
    return field.replace(" ", "") in _FROM


def _plain(line: str) -> str:
    """Takes away the marks of direction that a mail program sets."""
    line = line[:LONGEST_LINE].strip()
    if line.isascii():
        return line
    return "".join(one for one in line if unicodedata.category(one) != "Cf").strip()


# Texts are compared in pieces of this many characters.
PIECE = 8
# Links and pictures are written out in different ways: this share of a line's characters is enough.
ENOUGH = 0.8
# Only the newest texts of a thread are compared: more costs a second and a hundred megabytes.
MOST_CHARACTERS = 300_000
# What mail programs write behind a word in place of its link, and for a picture; and what Markdown
# has of a link and of code that nobody sees.
_TARGET = re.compile(
    r"<(?:https?|mailto):[^<>\s]*>|\[(?:https?|cid|mailto):[^\[\]\s]*\]"
    r"|(?<=\])\((?:https?|mailto):[^()\s]*\)|^```[\w+-]{1,30}$",
    flags=re.MULTILINE,
)


class Held:
    """Holds the texts of a conversation, which come the newest first. The words of `footer` stand
    only in the last paragraph of the agent's own mails."""

    def __init__(self, texts: Iterable[str] = (), *, footer: Iterable[str] = ()) -> None:
        self._footer = [letters(words) for words in footer]
        self._pieces: set[str] = set()
        self._lines: set[str] = set()
        self._starts: set[str] = set()
        room = MOST_CHARACTERS
        for text in texts:
            text = text[:room]
            room -= len(text)
            self._lines.update(letters(line) for line in text.split("\n"))
            whole = letters(text)
            self._starts.add(whole[:PIECE])
            self._pieces.update(whole[at : at + PIECE] for at in range(len(whole) - PIECE + 1))
        self._lines.discard("")
        self._starts.discard("")

    def __bool__(self) -> bool:
        return bool(self._lines)

    def begins_with(self, lines: Sequence[str]) -> bool:
        """Tells whether one of the texts begins as these lines do."""
        start = letters("".join(lines))[:PIECE]
        return start in self._starts or letters("".join(lines[:1])) in self._starts

    def is_footer(self, paragraph: str) -> bool:
        written = letters(paragraph)
        return any(words in written for words in self._footer)

    def which(self, lines: Sequence[str]) -> list[bool]:
        """Tells for each line whether the conversation holds it, in the run of lines around it."""
        found = [letters(line) for line in lines]
        whole = "".join(found)
        covered = bytearray(len(whole))
        for at in range(len(whole) - PIECE + 1):
            if whole[at : at + PIECE] in self._pieces:
                covered[at : at + PIECE] = b"\1" * PIECE
        held, at = [], 0
        for line in found:
            count = sum(covered[at : at + len(line)])
            held.append(line in self._lines or count >= ENOUGH * len(line))
            at += len(line)
        return held


def letters(text: str) -> str:
    """Reduces a text to its letters and digits, which are the same in whatever form it is sent."""
    text = unicodedata.normalize("NFC", _TARGET.sub("", text)).casefold()
    return "".join(filter(str.isalnum, text))
