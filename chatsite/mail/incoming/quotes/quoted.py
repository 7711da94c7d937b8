"""Cuts from a mail what it quotes of its own conversation, and its signature.

The model has read its conversation and needs no signature. The mail is about what a person forwards
or quotes of somebody else: that stays, also if the thread began without the agent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from chatsite.mail.incoming.quotes import marks
from chatsite.mail.incoming.quotes.marks import Held
from chatsite.mail.incoming.reading import is_forwarded

# A program adds a line with "sent", "from", and at its end a device or a program. People write each
# of these words, too.
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
# Nobody writes more lines by hand: such a mail stays whole.
MOST_LINES = 5_000
LONGEST_SIGNATURE, LONGEST_BLOCK = 20, 12
_ASKS = ("?", "？", "؟")
NOTHING_HELD = Held()


def own_words(text: str, held: Held = NOTHING_HELD, *, subject: str = "") -> str:
    """Gives what the sender wrote, and what they quote that the conversation doesn't hold. Answers
    between quotes keep the quotes that they answer. If nothing else remains, the whole text
    stays."""
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        return text.strip()
    mail = _read(lines, subject)
    cut = _signature_lines(mail)
    for number in cut:
        mail.texts[number], mail.marked[number] = "", 0
    end = len(lines) if is_forwarded(subject) else _held_quote_from(mail, held)
    cut |= _program_lines(mail, min(end, mail.forwards, mail.below))
    remaining = (line for number, line in enumerate(lines[:end]) if number not in cut)
    return "\n".join(remaining).strip() or text.strip()


@dataclass(slots=True)
class _Mail:
    """The lines of a mail. `depths` says how often each is quoted, `texts` what it says, `marked`
    how many lines the mark takes that ends with it. `blocks` has the last lines of header blocks,
    and whether each surely is a block. `forwards` is where a forward begins. `below` is the first
    mark in no quote: all lines that follow it may be quoted."""

    depths: list[int]
    texts: list[str]
    marked: list[int]
    blocks: dict[int, bool] = field(default_factory=dict)
    forwards: int = 0
    below: int = 0


def _read(lines: Sequence[str], subject: str) -> _Mail:
    both = [marks.depth_of(line) for line in lines]
    mail = _Mail([depth for depth, _ in both], [text for _, text in both], [0] * len(lines))
    mail.forwards = mail.below = len(lines)
    block, fewest = 0, marks.FEWEST_FIELDS
    for number, line in enumerate(mail.texts):
        is_line = marks.is_line(line)
        if number >= block and (block := _after_block(mail, number, fewest)):
            mail.marked[block - 1] = block - number
            mail.blocks[block - 1] = marks.is_surely_block(mail.texts[number:block], subject)
            _note_tail(mail, number, marks.is_from(marks.field_of(line)))
        elif number >= block:
            mail.marked[number] = lead = _lead(mail, number) or is_line
            is_tail = marks.is_original_mark(line) if is_line else lead > 0
            _note_tail(mail, number - lead + 1, is_tail and not _is_above_quote(mail, number))
        if line.strip():
            fewest = 1 if is_line else marks.FEWEST_FIELDS
    for number, line in enumerate(mail.texts[: mail.below + 1]):
        below = mail.texts[number + 1 : number + LONGEST_BLOCK]
        if marks.is_forward_mark(line, below, subject) and _begins_here(mail, number):
            mail.forwards = number
            break
    return mail


def _note_tail(mail: _Mail, number: int, is_tail: bool) -> None:
    if is_tail and not mail.depths[number]:
        mail.below = min(mail.below, number)


def _lead(mail: _Mail, number: int) -> int:
    """Counts the lines, up to three, of an "On Tuesday Ada wrote:" that ends here."""
    found = 0
    for count in (1, 2, 3):
        first = number - count + 1
        if first < 0 or not mail.texts[first].strip() or mail.depths[first] != mail.depths[number]:
            break
        joined = " ".join(mail.texts[first : number + 1])[: marks.LONGEST_LINE]
        if marks.is_lead(joined):
            found = found or count
            if marks.begins_lead(mail.texts[first]):
                return count
    return found


def _after_block(mail: _Mail, number: int, fewest: int) -> int:
    """Finds the line behind Outlook's From, Sent, To, Subject; 0 if there are fewer fields."""
    fields, at = 0, number
    # "From Ada <ada@...>" without a colon, as some write it below a line.
    is_bare = fewest == 1 and marks.is_from(mail.texts[number].partition(" ")[0].casefold())
    while at < len(mail.texts) and at < number + LONGEST_BLOCK and (line := mail.texts[at]).strip():
        is_field = is_bare or bool(marks.field_of(line))
        is_field = is_field and mail.depths[at] == mail.depths[number]
        # A long list of recipients goes on in the next line.
        if not is_field and not (fields and "@" in line[: marks.LONGEST_LINE]):
            break
        fields, at = fields + is_field, at + 1
    return at if fields >= fewest else 0


def _is_above_quote(mail: _Mail, number: int) -> bool:
    below = number + 1
    while below < len(mail.texts) and not (mail.depths[below] or mail.texts[below].strip()):
        below += 1
    return below < len(mail.texts) and mail.depths[below] > 0


def _begins_here(mail: _Mail, number: int) -> bool:
    """Tells whether a mark stands in no quote, or begins one with no line above to say whose."""
    above = number - 1
    while above >= 0 and not mail.texts[above].strip():
        above -= 1
    return not mail.depths[number] or above < 0 or not (mail.depths[above] or mail.marked[above])


# ---- what is held ------------------------------------------------------------------------------
def _held_quote_from(mail: _Mail, held: Held) -> int:
    """Finds where the quote begins that goes to the end of the mail and that the conversation
    holds; the number of lines stands for none. Text in no quote and below no mark never counts as
    one."""
    at = kept = begin = first = len(mail.texts)
    if not held or mail.forwards < at:
        return at
    known = _held_lines(mail, held)
    top, is_open, is_below_mark = -1, False, False
    while at > 0:
        number = at - 1
        is_quote = mail.depths[number] > 0 or _wraps(mail, number)
        is_line = marks.is_line(mail.texts[number])
        is_line = is_line or (is_below_mark and top < 0 and marks.is_dashed(mail.texts[number]))
        start = at - max(mail.marked[number], is_line)
        is_mark = start < at and (is_line or not all(known[start:at]))
        if not mail.texts[number].strip():
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
    if is_open and top > mail.below and held.begins_with(mail.texts[top : top + 3]):
        # Between the mark and the answered mail stand a gateway's words.
        return top
    is_kept = begin == len(mail.texts) or _is_chosen(mail, kept, begin, held)
    return len(mail.texts) if is_kept else kept


def _is_chosen(mail: _Mail, kept: int, begin: int, held: Held) -> bool:
    """Tells whether the sender chose the quote from line `kept` on, whose words begin at `begin`,
    to speak of it. A program quotes from the beginning, and below answers between quotes it leaves
    a rest."""
    above = next(filter(str.strip, reversed(mail.texts[:kept])), "").rstrip()
    if above.endswith((":", "：")) and not any(mail.marked[kept:begin]):
        return True
    if held.begins_with(mail.texts[begin : begin + 3]) or any(mail.depths[:kept]):
        return False
    return not held.is_footer(" ".join(mail.texts[kept:]))


def _introduces(mail: _Mail, number: int, top: int, is_open: bool, held: Held) -> bool:
    """Tells whether the lines from `top` on, which the conversation holds, are a mail below this
    mark; `is_open` says that no ">" marks them. The conversation holds the sender's usual closing,
    too, which may stand below fields or a time of their own."""
    if mail.blocks.get(number, False) or held.begins_with(mail.texts[top : top + 3]):
        return True
    return not is_open and number not in mail.blocks


def _held_lines(mail: _Mail, held: Held) -> list[bool]:
    """Tells for each line whether the conversation holds it; the paragraph below the agent's
    answers counts."""
    known = held.which(mail.texts)
    first = 0
    for number in range(len(known) + 1):
        if number == len(known) or not mail.texts[number].strip():
            if held.is_footer(" ".join(mail.texts[first:number])):
                known[first:number] = [True] * (number - first)
            first = number + 1
    return known


def _wraps(mail: _Mail, number: int) -> bool:
    """Tells whether a program broke a long quoted line here: the lines around this one are
    quoted."""
    return 0 < number < len(mail.texts) - 1 and all(mail.depths[number + by] for by in (-1, 1))


# ---- signatures ------------------------------------------------------------------------------
def _signature_lines(mail: _Mail) -> set[int]:
    """Finds the sender's signatures, each of which ends with the text, or above a quote."""
    end = min(mail.forwards, mail.below)
    found: set[int] = set()
    for number in reversed(range(end)):
        if mail.depths[number]:
            end = number
        elif mail.marked[number] and _is_above_quote(mail, number):
            end = number - mail.marked[number] + 1
        elif mail.texts[number] == marks.SIGNATURE and _is_signature(mail.texts[number:end]):
            found.update(range(number, end))
            end = number
    return found


def _is_signature(lines: Sequence[str]) -> bool:
    """Tells whether lines below two dashes are a signature: few of them, and none that asks."""
    written = [line.rstrip() for line in lines if line.strip()]
    return len(written) <= LONGEST_SIGNATURE and not any(one.endswith(_ASKS) for one in written)


def _program_lines(mail: _Mail, end: int) -> set[int]:
    """Finds the last line above `end` if a program wrote it, with the dashes above it."""
    written = [number for number in range(end) if mail.texts[number].strip()]
    last = mail.texts[written[-1]] if written else ""
    if len(last) > LONGEST_SENT_WITH or not _SENT_WITH.fullmatch(last):
        return set()
    has_dashes = len(written) > 1 and mail.texts[written[-2]] == "--"
    return set(written[-2:] if has_dashes else written[-1:])
