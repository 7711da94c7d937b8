"""What `relevant` quotes of tools' results that aren't sent: the lines around what is asked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import fsum, log

from chatsite.history.evidence import BECAUSE_OF_ROOM
from chatsite.history.lexical.best_lines import (
    best_line,
    in_lines,
    lines_around,
    question_words,
)
from chatsite.history.path.added_messages import quote_tokens
from chatsite.history.path.transcript import Entry
from chatsite.history.path.turn_verdicts import PathVerdict
from chatsite.history.reasons import NEVER_QUOTED
from chatsite.history.token_estimate import estimate_message
from chatsite.messages import TokenCount
from chatsite.wording import later

PASSAGE = later("these lines of the result share rare words with the message")
# Tokens for the passages that a question may have, and how many they are.
MOST_TOKENS, MOST = 900, 4


def passage_of(entry: Entry, question: str) -> Entry:
    """A result as its lines with the rarest words of the question, and any other message whole.

    Nothing else decides: the passage is the same for as long as it is quoted.
    """
    text = in_lines(entry.message.content or "")
    if entry.message.role != "tool" or not text:
        return entry
    around = lines_around(*best_line(text, question))
    start, end = around[0][0], around[-1][1]
    message = replace(entry.message, content=text[start:end].strip("\n"))
    tokens = TokenCount(count=estimate_message(message), tokenizer="estimate", basis="estimated")
    return replace(entry, message=replace(message, tokens=tokens))


def find_passages(
    verdict: PathVerdict, question: str, *, sent: set[int], quoted: set[int], room: int
) -> list[Entry]:
    """The passages with most of the question's rare words, in `room` tokens, of results that aren't
    whole in the request nor `quoted` there; `sent` are the first messages of its turns."""
    found = [
        passage_of(entry, question)
        for turn in verdict.older
        if turn.reason not in NEVER_QUOTED
        for entry in turn.turn.entries
        if entry.message.role == "tool" and not entry.excluded and entry.seq not in quoted
        if turn.first not in sent or turn.lines.get(entry.seq) in BECAUSE_OF_ROOM
    ]
    words = question_words(question)
    has = [[word for word in words if word in (e.message.content or "").lower()] for e in found]
    common = Counter(word for one in has for word in one)
    worth = [fsum(log(1 + len(found) / common[word]) for word in one) for one in has]
    chosen: list[Entry] = []
    for value, entry in sorted(zip(worth, found, strict=True), key=lambda one: -one[0])[:MOST]:
        if value and sum(map(quote_tokens, [*chosen, entry])) <= min(room, MOST_TOKENS):
            chosen.append(entry)
    return chosen
