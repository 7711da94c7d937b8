"""Cuts what a mail quotes, and its signature: the model has read the one and needs no other."""

from __future__ import annotations

import re

# "On Tuesday Ada wrote:", as mail programs of several languages say it. The line may be broken.
_WROTE = re.compile(
    r"^\s{0,3}(?:"
    r"On\b.{5,300}\bwrote:"
    r"|Am\b.{5,300}\bschrieb\b.{0,200}:"
    r"|.{5,200}\bschrieb am\b.{5,100}:"
    r"|Le\b.{5,300}\ba écrit\s{0,3}:"
    r"|El\b.{5,300}\bescribió:"
    r"|Il\b.{5,300}\bha scritto:"
    r"|Em\b.{5,300}\bescreveu:"
    r"|Op\b.{5,300}\bschreef\b.{0,200}:"
    r"|Den\b.{5,300}\b(?:skrev|skrev följande)\b.{0,200}:"
    r"|W dniu\b.{5,300}\bpisze:"
    r"|Dnia\b.{5,300}\bnapisał(?:\(a\)|a)?:"
    r")\s*$"
)
# The line above a forwarded header block, and Outlook's line of underscores.
_RULE = re.compile(
    r"^\s{0,9}(?:-{2,}\s*(?:Original Message|Ursprüngliche Nachricht|Message d'origine|"
    r"Mensaje original|Messaggio originale|Mensagem original|Oorspronkelijk bericht|"
    r"Original-Nachricht)\s*-{2,}|_{20,})\s*$",
    flags=re.IGNORECASE,
)
_FROM = re.compile(r"^\s{0,9}\*?(?:From|Von|De|Da|Van|Från|Od)\s?:\*?\s", flags=re.IGNORECASE)
_MORE = re.compile(
    r"^\s{0,9}\*?(?:Sent|Date|To|Subject|Cc|Gesendet|Datum|An|Betreff|Envoyé|À|Objet|Enviado|Para|"
    r"Asunto|Inviato|A|Oggetto|Assunto|Verzonden|Aan|Onderwerp|Skickat|Till|Ämne|Data|Do|Temat)"
    r"\s?:\*?\s",
    flags=re.IGNORECASE,
)
_QUOTE = re.compile(r"^\s{0,3}>")
# Lines that a program adds, and nobody writes.
_SENT_WITH = re.compile(
    r"^\s{0,9}(?:Sent from my|Gesendet von meinem|Von meinem .{1,40} gesendet|Envoyé de mon|"
    r"Enviado desde mi|Get Outlook for)\b.{0,80}$",
    flags=re.IGNORECASE,
)
SIGNATURE = ("-- ", "--")
# What is longer was not written by hand; it is kept whole.
MOST_LINES = 5_000
LONGEST_LINE = 500


def own_words(text: str) -> str:
    """What the sender wrote. Answers between quotes keep the quotes that they answer. Where
    nothing else is left, the whole text: a forwarded mail, for instance."""
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        return text.strip()
    kept = _without_signature(lines)
    kept = _without_signature(kept[: _quoted_from(kept)])
    return "\n".join(_without_last_quote(kept)).strip() or text.strip()


def _is_quote(line: str) -> bool:
    return _QUOTE.match(line) is not None


def _without_signature(lines: list[str]) -> list[str]:
    """Without the first signature. Answers below a quote that follows it are kept."""
    for number, line in enumerate(lines):
        if line in SIGNATURE or _SENT_WITH.match(line[:LONGEST_LINE]):
            rest = lines[number + 1 :]
            first = next((at for at, one in enumerate(rest) if _is_quote(one)), len(rest))
            return lines[:number] + (rest[first:] if _answers(rest)[0] else [])
    return lines


def _quoted_from(lines: list[str]) -> int:
    """The number of the first line of what is quoted until the end."""
    answers, leads = _answers(lines), _leads(lines)
    for number, line in enumerate(lines):
        block = _is_header_block(lines, number) or _RULE.match(line[:LONGEST_LINE])
        lead = 1 if block else leads[number]
        if lead and not answers[number + lead]:
            return number
    return len(lines)


def _answers(lines: list[str]) -> list[bool]:
    """For each line, and behind the last: whether the sender writes below a quote from there on."""
    found, below = [False], False
    for number in reversed(range(len(lines))):
        quote = _is_quote(lines[number])
        found.append(found[-1] or (quote and below))
        below = below or (not quote and bool(lines[number].strip()) and not _wraps(lines, number))
    return found[::-1]


def _wraps(lines: list[str], number: int) -> bool:
    """A program broke a long quoted line: between two quoted ones, without an empty line."""
    return 0 < number < len(lines) - 1 and all(_is_quote(lines[number + by]) for by in (-1, 1))


def _leads(lines: list[str]) -> list[int]:
    """For each line how many lines "On ... wrote:" takes from there, up to three; 0: none begins
    there. From the last line up, since a line that begins one isn't the first of two or three."""
    found = [0] * len(lines)
    for number in reversed(range(len(lines))):
        for count, line in enumerate(lines[number : number + 3], start=1):
            if not line.strip():
                break
            joined = " ".join(lines[number : number + count])[:LONGEST_LINE].rstrip()
            if joined.endswith(":") and _WROTE.match(joined):
                found[number] = count if count == 1 or not found[number + 1] else 0
                break
    return found


def _is_header_block(lines: list[str], number: int) -> bool:
    """Outlook's From, Sent, To, Subject: at least three of them, one below the other."""
    if not _FROM.match(lines[number][:LONGEST_LINE]):
        return False
    following = lines[number + 1 : number + 6]
    return sum(_MORE.match(line[:LONGEST_LINE]) is not None for line in following) >= 2


def _without_last_quote(lines: list[str]) -> list[str]:
    """Without the quoted block at the end, and the line that introduces it."""
    end = len(lines)
    while end and (not lines[end - 1].strip() or _is_quote(lines[end - 1])):
        end -= 1
    if not any(map(_is_quote, lines[end:])):
        return lines
    near = max(0, end - 3)
    # What follows the last line is left out: it begins none.
    for start, lead in reversed(list(enumerate(_leads(lines[near:end]), start=near))):
        if lead == end - start:
            return lines[:start]
    return lines[:end]
