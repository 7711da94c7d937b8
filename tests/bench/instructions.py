"""Standing instructions found by their form: those that questions need, and offers in talk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chatsite.history.instructions import standing_instructions
from chatsite.messages import Message
from chatsite.providers.tokens.tokenizers import O200k
from tests.bench.dialogues import SOURCES, Dialogue, missing, read
from tests.bench.figures import Options, Row, table

KIND = "instruction_following"
BUDGET = 4_000


@dataclass(slots=True, kw_only=True)
class Found:
    """`kept` has the sentences of each conversation in which every offer is accepted."""

    messages: int = 0
    offers: int = 0
    questions: int = 0
    answered: int = 0
    kept: list[str] = field(default_factory=list)

    def add(self, dialogue: Dialogue) -> None:
        """In talk of two people both write as a person does; else the first one alone."""
        found = {
            place: sentences
            for place, spoken in enumerate(dialogue.spoken)
            if (not dialogue.with_assistant or spoken.author == dialogue.authors[0])
            and (sentences := standing_instructions(spoken.text))
        }
        people = 1 if dialogue.with_assistant else 2
        authors = dialogue.authors[:people]
        self.messages += sum(spoken.author in authors for spoken in dialogue.spoken)
        self.offers += len(found)
        asked = [question for question in dialogue.questions if question.kind == KIND]
        self.questions += len(asked)
        self.answered += sum(not found.keys().isdisjoint(each.evidence) for each in asked)
        if found:
            self.kept.append("\n- ".join(line for lines in found.values() for line in lines))


async def run(options: Options) -> list[Row]:
    print(
        "All sets were looked at while the forms were written, so these are no figures of unseen"
        ' text.\nBEAM\'s instructions have one form ("Always ... when I ask about ..."), in both'
        " halves. A question\nis answered if an instruction was found in a message of its"
        " evidence.\n"
    )
    if lacking := missing(options.data):
        print(f"{lacking}\n")
    lines: list[list[str]] = []
    rows: list[Row] = []
    for name, file in options.data.items():
        for half, dialogues in _halves(read(file)):
            found = Found()
            for dialogue in dialogues:
                found.add(dialogue)
            lines.append([SOURCES[name].title, half, *await _figures(found)])
            rows.append(_row(f"{SOURCES[name].title}, {half}", found))
    head = (
        "set",
        "half",
        "messages of people",
        "offers",
        "in 100",
        "questions",
        "tokens, all kept",
    )
    print(table(head, lines))
    return rows


def _halves(dialogues: Sequence[Dialogue]) -> Iterator[tuple[str, Sequence[Dialogue]]]:
    middle = (len(dialogues) + 1) // 2
    yield "first", dialogues[:middle]
    yield "second", dialogues[middle:]


async def _figures(found: Found) -> list[str]:
    """The last: tokens of a conversation's sentences in a request, the mean and the most."""
    ranks = O200k.find()
    assert ranks is not None, "the file of o200k ranks is missing"
    texts = [Message.user(text, id="bench") for text in found.kept]
    tokens = [each.count for each in await ranks.count(texts)]
    share = f"{sum(tokens) / len(tokens):.0f}, {max(tokens)}" if tokens else "-"
    return [
        f"{found.messages:,}",
        str(found.offers),
        f"{100 * found.offers / found.messages:.2f}",
        f"{found.answered}/{found.questions}" if found.questions else "-",
        f"{share} (5 % of {BUDGET:,} are {BUDGET // 20})" if tokens else share,
    ]


def _row(what: str, found: Found) -> Row:
    if found.questions:
        share = found.answered / found.questions
        held = "holds" if share >= 0.95 else "MISSED"
        return Row(
            what=f"{what}: instructions found",
            baseline="",
            ours=f"{100 * share:.0f} %",
            target=f"at least 95 %: {held}",
        )
    offers = 100 * found.offers / found.messages
    held = "holds" if offers <= 1 else "MISSED"
    return Row(
        what=f"{what}: offers in 100 messages of talk",
        baseline="",
        ours=f"{offers:.2f}",
        target=f"at most 1: {held}",
    )
