"""The conversation on which the tests run strategies, and readers of a strategy's slots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chatsite.agents.strategy.file import StrategyFile, read_strategy
from chatsite.agents.strategy.protocol import StrategyFailure, StrategyInput
from chatsite.agents.strategy.worker import StrategyResult
from chatsite.history import StrategySlot
from chatsite.messages import Attachment, Message, TokenCount

REPORT = Attachment(id="f1", name="report.pdf", size=9, modality="document", mime_type="text/pdf")


def counted(message: Message, tokens: int) -> Message:
    count = TokenCount(count=tokens, tokenizer="test", basis="counted")
    return Message(
        id=message.id,
        role=message.role,
        content=message.content,
        attachments=message.attachments,
        call_id=message.call_id,
        tokens=count,
    )


MESSAGES = (
    Message.system("Be kind.", id="a"),
    Message.user("Check this report", REPORT, id="b"),
    Message.assistant("It looks correct.", id="c"),
    Message.user("yes", id="d"),
    Message.tool("42", id="e", call_id="call"),
)
# Numbers have gaps, as on a path with several versions; the nth message counts 10 * n tokens.
SAMPLE_INPUT = StrategyInput(
    history=tuple((3 * n, counted(m, 10 * n)) for n, m in enumerate(MESSAGES, 1)),
    input="yes",
    budget=100,
    limit=400,
    slug="ada",
    name="Ada",
    personality="You help.",
)


def write(folder: Path, source: str) -> StrategyFile:
    (folder / "ada").mkdir(exist_ok=True)
    file = folder.resolve() / "ada" / "strategy.py"
    file.write_text(source)
    return read_strategy(str(file), shown="ada/strategy.py")


def slots(built: StrategyResult | StrategyFailure) -> tuple[StrategySlot, ...]:
    assert isinstance(built, StrategyResult), built
    return built.slots


def names_and_items(built: StrategyResult | StrategyFailure) -> list[tuple[str, list[Any]]]:
    """Each slot as (name, items); an added text as (role, content)."""
    return [
        (slot.name, [i if isinstance(i, int) else (i.role, i.content) for i in slot.items])
        for slot in slots(built)
    ]
