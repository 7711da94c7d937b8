"""The evidence that earlier turns of a path could have had: only what was above each turn."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from chatsite.conversations.owners import Owner
from chatsite.conversations.records import IndexLines, IndexProgress, PastTurn
from chatsite.history import BACKGROUND, Entry, Evidence, RunningSummary, split_turns
from chatsite.history.lexical.index import Line
from chatsite.history.policies.lexical import LEXICAL
from chatsite.history.policies.summary import SUMMARY
from chatsite.history.policies.table import needed_evidence
from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from chatsite.turns.context.decider import Decider, DecisionInputs, Gatherer
from chatsite.turns.evidence.recall import COLD, Recaller
from chatsite.turns.evidence.summary_writer import summary_tokens
from chatsite.wording import later

# As many of the newest as `conversations.search.stored_indexes` looks at.
LOOKED_AT = 50
TOO_LONG = later(
    "What would have been found among older messages isn't known: there are too many to search "
    "them again as they stood then."
)
NO_SUMMARY = later("No summary of that time is stored that still holds.")


def decider_of_turn(
    decider: Decider, past: PastTurn, *, vectors: SentenceVectors | None
) -> Decider:
    """Return a decider for one turn that was answered: it gathers what was there to gather then,
    and says in the decision's notes what isn't known any more."""
    entries = past.loaded.transcript.entries
    reader = PathIndexReader(entries)
    reader.move_to(entries[-1].seq)
    known = decider_of_path(
        decider, reader, [past.summary] if past.summary else [], vectors=vectors
    )
    unknown: dict[str, Gatherer] = {}
    if len(entries) > COLD:
        unknown[LEXICAL.evidence] = UnknownEvidence(TOO_LONG)
    looked_for = needed_evidence(past.receipt) == SUMMARY.evidence
    given = SUMMARY.evidence in past.receipt.get("reports", {})
    if past.summary is None and (given or not looked_for):
        unknown[SUMMARY.evidence] = UnknownEvidence(NO_SUMMARY)
    return replace(known, gatherers={**known.gatherers, **unknown})


@dataclass(frozen=True, slots=True)
class UnknownEvidence:
    """No evidence, with a note that says why."""

    why: str

    async def gather(self, inputs: DecisionInputs) -> Evidence:
        return Evidence(notes=(self.why,))


def decider_of_path(
    decider: Decider,
    reader: PathIndexReader,
    summaries: Sequence[RunningSummary],
    *,
    vectors: SentenceVectors | None,
) -> Decider:
    """Return a decider for one path's turns, from the oldest on; `summaries` are the versions that
    are stored of it."""
    past: dict[str, Gatherer] = {
        LEXICAL.evidence: Recaller(vectors=vectors, index=reader, saves=False),
        SUMMARY.evidence: PastSummaries(summaries),
    }
    return replace(decider, gatherers={**decider.gatherers, **past})


class PathIndexReader:
    """Answers as `conversations.search.stored_indexes` did at the turn of the message `until`."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.until = 0
        self._seqs = [entry.seq for entry in entries]
        self._lines = collect_lines(entries)
        self._line_seqs = [line.seq for line in self._lines]

    def move_to(self, seq: int) -> None:
        """The turn of this message is the current one now."""
        self.until = seq

    async def index_progress(self, *, owner: Owner, conversation: str, last: int) -> IndexProgress:
        held = bisect_right(self._seqs, last)
        newest = self._line_seqs[: bisect_right(self._line_seqs, last)][-LOOKED_AT:]
        return IndexProgress(
            newest=tuple(reversed(newest)) if last else (),
            messages=held,
            waiting=bisect_right(self._seqs, self.until) - held,
        )

    async def lines_between(
        self, *, owner: Owner, conversation: str, after: int, before: int, most: int
    ) -> IndexLines:
        first = bisect_right(self._line_seqs, after)
        lines = self._lines[first : bisect_left(self._line_seqs, before)][:most]
        last = lines[-1].seq if lines else after
        return IndexLines(lines=tuple(lines), messages=bisect_right(self._seqs, last))


def collect_lines(entries: Sequence[Entry]) -> list[Line]:
    """Return the texts of person and assistant, without greetings and background tasks."""
    found = []
    for turn in split_turns([entry for entry in entries if entry.message.role != "system"]):
        if turn.user is None or turn.user.message.source in BACKGROUND:
            continue
        for entry in turn.entries:
            message = entry.message
            spoken = message.role in ("user", "assistant") and message.source not in BACKGROUND
            if spoken and message.content:
                line = Line(
                    seq=entry.seq, author=message.role[0], text=message.content, at=entry.at
                )
                found.append(line)
    return found


@dataclass(frozen=True, slots=True)
class PastSummaries:
    """Gathers, of the stored versions, the last one that covered nothing of the current turn."""

    versions: Sequence[RunningSummary]

    async def gather(self, inputs: DecisionInputs) -> Evidence:
        current = inputs.transcript.entries[-1].seq
        known = [version for version in self.versions if version.last < current]
        if not known:
            return Evidence()
        summary = max(known, key=lambda version: (version.last, version.version))
        tokens = await summary_tokens(summary.text, inputs.tokenizer)
        return Evidence(
            summary=replace(summary, tokens=tokens), reports={SUMMARY.evidence: summary.report}
        )
