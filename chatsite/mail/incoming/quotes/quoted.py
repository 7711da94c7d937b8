"""Cuts what a mail quotes of its own conversation, and its signature.

The model has read the one and needs no other. What a person forwards, or quotes of somebody else,
is what the mail is about: it stays, also where the thread began without the agent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from chatsite.mail.incoming.quotes import marks
from chatsite.mail.incoming.quotes.held import Held
from chatsite.mail.incoming.threads import is_forwarded

# A line that a program adds: "sent", "from", and at its end a device or a program. People write all
# of these as well.
_SENT_WITH = re.compile(
    r"(?=.*(?:phon|iPad|iOS|Android|Galaxy|Samsung|Huawei|Xiaomi|mobil|móvil|tele[fp]|手机|手機|携帯|"
    r"Outlook|Yahoo|Proton|Tuta;.*|Spark|Airmail|K-9|Windows|mail app).{0,20}$)\W{0,9}"
    r"(?:(?:Sent|Gesendet|Envoyé|Envia(?:do|t)|Inviato|Verstuurd|Verzonden|Skickat|Sendt|"
    r"Wysłan[eo]|Od[eo]sl[áa]n[oé]|Отправлено|Надіслано|Trimis|Απεστάλη|Küldve|Poslano|Dikirim|"
    r"Đã gửi|Get Outlook) (?:from|via|with|for|von|mit|de|du|depuis|à partir|avec|desde|con|do|da|"
    r"dal|com|a partir|des|amb|vanaf|met|från|fra|med|z|ze|с|из|з|із|din|από|az|dari|từ)\b.+|"
    r"Lähetetty .+|נשלח מ.+|(?:发自|从我的|從我的).+|.{1,30}(?:から送信|gönderildi|에서 보냄)|"
    r"(?:Diese Nachricht wurde )?von meine[mr] .+ gesendet\W?)"
    # In any language.
    r"|.{0,40}Outlook.{0,40}<https://aka\.ms/[^<>\s]{1,60}>.{0,20}",
    flags=re.IGNORECASE,
)
LONGEST_SENT_WITH = 120
# What is longer was not written by hand; it is kept whole.
MOST_LINES = 5_000
LONGEST_SIGNATURE, LONGEST_BLOCK = 20, 12
_ASKS = ("?", "？", "؟")
NOTHING_HELD = Held()


def own_words(text: str, held: Held = NOTHING_HELD, *, subject: str = "") -> str:
    """What the sender wrote, and what they quote that the conversation doesn't hold. Answers
    between quotes keep the quotes that they answer. Where nothing else is left, the whole text."""
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        return text.strip()
    mail = _read(lines, subject)
    cut = _signatures(mail)
    for number in cut:
        mail.said[number], mail.marked[number] = "", 0
    end = len(lines) if is_forwarded(subject) else _held_from(mail, held)
    cut |= _program_lines(mail, min(end, mail.forwards, mail.below))
    kept = (line for number, line in enumerate(lines[:end]) if number not in cut)
    return "\n".join(kept).strip() or text.strip()


@dataclass(slots=True)
class _Mail:
    """For each line how often it is quoted, what it says, and how many lines the mark takes that
    ends with it; `blocks` are the last lines of header blocks, and whether these are surely some.
    `forwards` is where what is forwarded begins, `below` the first mark that stands in no quote:
    all that follows may be quoted."""

    depths: list[int]
    said: list[str]
    marked: list[int]
    blocks: dict[int, bool] = field(default_factory=dict)
    forwards: int = 0
    below: int = 0


def _read(lines: Sequence[str], subject: str) -> _Mail:
    both = [marks.depth_of(line) for line in lines]
    mail = _Mail([depth for depth, _ in both], [said for _, said in both], [0] * len(lines))
    mail.forwards = mail.below = len(lines)
    block, fewest = 0, marks.FEWEST_FIELDS
    for number, line in enumerate(mail.said):
        is_line = marks.is_line(line)
        if number >= block and (block := _after_block(mail, number, fewest)):
            mail.marked[block - 1] = block - number
            mail.blocks[block - 1] = marks.is_surely_block(mail.said[number:block], subject)
            _note_tail(mail, number, marks.is_from(marks.field_of(line)))
        elif number >= block:
            mail.marked[number] = lead = _lead(mail, number) or is_line
            is_tail = marks.is_original_mark(line) if is_line else lead > 0
            _note_tail(mail, number - lead + 1, is_tail and not _is_above_quote(mail, number))
        if line.strip():
            fewest = 1 if is_line else marks.FEWEST_FIELDS
    for number, line in enumerate(mail.said[: mail.below + 1]):
        below = mail.said[number + 1 : number + LONGEST_BLOCK]
        if marks.is_forward_mark(line, below, subject) and _begins(mail, number):
            mail.forwards = number
            break
    return mail


def _note_tail(mail: _Mail, number: int, is_tail: bool) -> None:
    if is_tail and not mail.depths[number]:
        mail.below = min(mail.below, number)


def _lead(mail: _Mail, number: int) -> int:
    """How many lines "On Tuesday Ada wrote:" takes that ends here, up to three."""
    found = 0
    for count in (1, 2, 3):
        first = number - count + 1
        if first < 0 or not mail.said[first].strip() or mail.depths[first] != mail.depths[number]:
            break
        joined = " ".join(mail.said[first : number + 1])[: marks.LONGEST_LINE]
        if marks.is_lead(joined):
            found = found or count
            if marks.begins_lead(mail.said[first]):
                return count
    return found


def _after_block(mail: _Mail, number: int, fewest: int) -> int:
    """The line behind Outlook's From, Sent, To, Subject; 0 for fewer."""
    fields, at = 0, number
    # "From Ada <ada@...>" without a colon, as some write it below a line.
    is_bare = fewest == 1 and marks.is_from(mail.said[number].partition(" ")[0].casefold())
    while at < len(mail.said) and at < number + LONGEST_BLOCK and (line := mail.said[at]).strip():
        is_field = is_bare or bool(marks.field_of(line))
        is_field = is_field and mail.depths[at] == mail.depths[number]
        # A long list of recipients goes on in the next line.
        if not is_field and not (fields and "@" in line[: marks.LONGEST_LINE]):
            break
        fields, at = fields + is_field, at + 1
    return at if fields >= fewest else 0


def _is_above_quote(mail: _Mail, number: int) -> bool:
    below = number + 1
    while below < len(mail.said) and not (mail.depths[below] or mail.said[below].strip()):
        below += 1
    return below < len(mail.said) and mail.depths[below] > 0


def _begins(mail: _Mail, number: int) -> bool:
    """Whether it stands in no quote, or begins one without a line that says whose it is."""
    above = number - 1
    while above >= 0 and not mail.said[above].strip():
        above -= 1
    return not mail.depths[number] or above < 0 or not (mail.depths[above] or mail.marked[above])


# ---- what is held ------------------------------------------------------------------------------
def _held_from(mail: _Mail, held: Held) -> int:
    """Where the quote begins that goes to the end of the mail and is held; the number of lines for
    none. Text that stands in no quote and below no mark is never one."""
    at = kept = begin = first = len(mail.said)
    if not held or mail.forwards < at:
        return at
    known = _known(mail, held)
    top, is_open, is_below_mark = -1, False, False
    while at > 0:
        number = at - 1
        is_quote = mail.depths[number] > 0 or _wraps(mail, number)
        is_line = marks.is_line(mail.said[number])
        is_line = is_line or (is_below_mark and top < 0 and marks.is_dashed(mail.said[number]))
        start = at - max(mail.marked[number], is_line)
        is_mark = start < at and (is_line or not all(known[start:at]))
        if not mail.said[number].strip():
            at -= 1
        elif is_mark and is_quote and number not in mail.blocks:
            at = start
        elif is_mark and (
            _introduces(mail, number, top, is_open, held) if top >= 0 else is_below_mark and is_line
        ):
            at, top, is_open, is_below_mark = start, -1, is_open and is_quote, True
        elif known[number]:
            at, top, first, is_open = number, number, number, is_open or not is_quote
        else:
            break
        if not is_open:
            kept, begin = at, first
    if is_open and top > mail.below and held.begins_with(mail.said[top : top + 3]):
        # Between the mark and the answered mail stand a gateway's words.
        return top
    is_kept = begin == len(mail.said) or _is_chosen(mail, kept, begin, held)
    return len(mail.said) if is_kept else kept


def _is_chosen(mail: _Mail, kept: int, begin: int, held: Held) -> bool:
    """Whether the quote from `kept` on, whose words begin at `begin`, is what the sender chose to
    speak of: a program quotes from the beginning, and an answer between quotes leaves a rest."""
    above = next(filter(str.strip, reversed(mail.said[:kept])), "").rstrip()
    if above.endswith((":", "：")) and not any(mail.marked[kept:begin]):
        return True
    if held.begins_with(mail.said[begin : begin + 3]) or any(mail.depths[:kept]):
        return False
    return not held.is_footer(" ".join(mail.said[kept:]))


def _introduces(mail: _Mail, number: int, top: int, is_open: bool, held: Held) -> bool:
    """Whether what is held from `top` on, and is `is_open` where no ">" marks it, is a mail below
    this mark. A closing would be held as well, below fields or a time of the sender's own."""
    if mail.blocks.get(number, False) or held.begins_with(mail.said[top : top + 3]):
        return True
    return not is_open and number not in mail.blocks


def _known(mail: _Mail, held: Held) -> list[bool]:
    """With the paragraph that is below all answers of the agent."""
    known = held.which(mail.said)
    first = 0
    for number in range(len(known) + 1):
        if number == len(known) or not mail.said[number].strip():
            if held.is_footer(" ".join(mail.said[first:number])):
                known[first:number] = [True] * (number - first)
            first = number + 1
    return known


def _wraps(mail: _Mail, number: int) -> bool:
    """A program broke a long quoted line: between two quoted ones, without an empty line."""
    return 0 < number < len(mail.said) - 1 and all(mail.depths[number + by] for by in (-1, 1))


# ---- signatures ------------------------------------------------------------------------------
def _signatures(mail: _Mail) -> set[int]:
    """The lines of the sender's: one ends with the text, or before what is quoted."""
    end = min(mail.forwards, mail.below)
    found: set[int] = set()
    for number in reversed(range(end)):
        if mail.depths[number]:
            end = number
        elif mail.marked[number] and _is_above_quote(mail, number):
            end = number - mail.marked[number] + 1
        elif mail.said[number] == marks.SIGNATURE and _is_signature(mail.said[number:end]):
            found.update(range(number, end))
            end = number
    return found


def _is_signature(lines: Sequence[str]) -> bool:
    """A long text below two dashes is none, and one that asks something is to be read."""
    said = [line.rstrip() for line in lines if line.strip()]
    return len(said) <= LONGEST_SIGNATURE and not any(line.endswith(_ASKS) for line in said)


def _program_lines(mail: _Mail, end: int) -> set[int]:
    """The last line above `end`, where a program wrote it."""
    said = [number for number in range(end) if mail.said[number].strip()]
    last = mail.said[said[-1]] if said else ""
    if len(last) > LONGEST_SENT_WITH or not _SENT_WITH.fullmatch(last):
        return set()
    return set(said[-2:] if len(said) > 1 and mail.said[said[-2]] == "--" else said[-1:])
