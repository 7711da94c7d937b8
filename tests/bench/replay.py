"""What each policy costs with a provider that keeps the beginnings of prompts, and what it keeps.

Every user turn of LoCoMo is sent, one speaker being the user and the other the assistant. Tokens
at the beginning that are those of the previous request are read from the provider's cache, at a
tenth of the price; all others are written to it, at 1.25 times. Every turn comes before the cache
forgets, which favours whoever keeps a beginning. Beside it stands what the same layout remembers:
each question is asked at its conversation's end, and its evidence counts where a whole message of
it is in the request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Protocol

from chatsite.history import (
    Decision,
    Entry,
    Evidence,
    Head,
    Previous,
    Recall,
    Transcript,
    Window,
    decide,
    resolve,
)
from chatsite.history.lexical.index import Index, Line
from chatsite.history.lexical.ranking import question_in_chat, recall_messages
from chatsite.messages import Message, TokenCount
from chatsite.providers.tokens.tokenizers import O200k
from tests.bench import dialogues
from tests.bench.figures import Options, Row, table

BUDGET, SYSTEM = 4_000, 300
READ, WRITE = 0.1, 1.25
WINDOW = Window(1_000_000, 1)
QUICK = 2

TEMPLATES: dict[str, dict[str, object]] = {
    "all": {"historyPolicy": "all"},
    "moving window": {"historyPolicy": "tokens", "historyLowWater": 100, "historyTokens": BUDGET},
    "tokens": {"historyPolicy": "tokens", "historyTokens": BUDGET},
    "relevant, lexical": {"historyPolicy": "relevant", "historyTokens": BUDGET},
}
TARGETS = {"tokens": "at most 600 units", "relevant, lexical": "60 % of the prompt from cache"}


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request: its tokens, the tokens at its beginning that are equal to the previous request's,
    and the sequence numbers of the stored messages that are in it uncut."""

    tokens: int
    leading: int
    uncut: frozenset[int]


class Sender(Protocol):
    """Sends one conversation's requests, one after the other."""

    def send(self, path: Sequence[Entry], *, keep: bool = True) -> SentRequest:
        """With `keep` the next request's beginning is compared with this one."""
        ...


@dataclass(slots=True)
class Bill:
    """The sums over all requests of a sender."""

    requests: int = 0
    tokens: int = 0
    cached: int = 0
    questions: int = 0
    complete: int = 0
    evidence: int = 0
    found: int = 0

    def pay(self, sent: SentRequest) -> None:
        self.requests += 1
        self.tokens += sent.tokens
        self.cached += sent.leading

    def ask(self, evidence: frozenset[int], sent: SentRequest) -> None:
        self.questions += 1
        self.complete += evidence <= sent.uncut
        self.evidence += len(evidence)
        self.found += len(evidence & sent.uncut)

    @property
    def units(self) -> float:
        return (READ * self.cached + WRITE * (self.tokens - self.cached)) / self.requests

    @property
    def share(self) -> float:
        return self.cached / self.tokens

    @property
    def recall(self) -> str:
        return (
            f"{100 * self.found / self.evidence:.1f} / {100 * self.complete / self.questions:.1f}"
        )


@dataclass(frozen=True, slots=True)
class Talk:
    """A dialogue as a path, and its questions with the sequence numbers of their evidence."""

    path: tuple[Entry, ...]
    questions: tuple[tuple[Entry, frozenset[int]], ...]


# ---- senders ----------------------------------------------------------------------------------
class PolicySender:
    """Sends under one of our policies, with a conversation's evidence and receipts."""

    def __init__(self, template: dict[str, object]) -> None:
        self._settings = resolve(environment={}, url={}, template=template)
        self._recalls = template["historyPolicy"] == "relevant"
        self._index, self._indexed = Index(), 0
        self._previous: Previous | None = None

    def send(self, path: Sequence[Entry], *, keep: bool = True) -> SentRequest:
        decision = decide(
            Transcript(entries=tuple(path)),
            self._settings,
            head=HEAD,
            window=WINDOW,
            evidence=Evidence(previous=self._previous, recall=self._recall(path)),
            agent="bench",
        )
        if keep:
            self._previous = previous_of(decision)
        runs = [verdict for verdict in decision.verdicts if verdict.sent and verdict.first]
        uncut = {seq for run in runs for seq in range(run.first, run.last + 1)}
        return SentRequest(decision.tokens, decision.leading, frozenset(uncut))

    def _recall(self, path: Sequence[Entry]) -> Recall | None:
        """The search hits, as a turn collects them: only if not everything fits."""
        if not self._recalls or SYSTEM + tokens(entry.message for entry in path) <= BUDGET:
            return None
        *older, current = path
        self._index.extend(line_of(entry) for entry in older[self._indexed :])
        self._indexed = max(self._indexed, len(older))
        query = question_in_chat(current.message.content or "")
        return Recall(hits=recall_messages(self._index, query, before=current.seq))


def previous_of(decision: Decision) -> Previous:
    return Previous(
        head_hash=decision.head_hash,
        layout=decision.layout,
        cut=decision.cut,
        under=decision.under,
    )


class LangChainSender:
    """Sends with langchain-core's `trim_messages` as its documentation advises; exact counts."""

    def __init__(self) -> None:
        from tests.bench.trimmers import LangChainAdvised

        self._adapter = LangChainAdvised()
        self._theirs: dict[int, object] = {}
        self._last: list[str] = []

    def send(self, path: Sequence[Entry], *, keep: bool = True) -> SentRequest:
        messages = [*HEAD.messages, *(entry.message for entry in path)]
        theirs = [self._adapter.theirs(message) for message in messages]
        kept = [message.id for message in self._adapter.trim(theirs, tokens=BUDGET)]
        counts = {message.id: tokens([message]) for message in messages}
        same = takewhile(lambda pair: pair[0] == pair[1], zip(kept, self._last, strict=False))
        leading = sum(counts[id] for id, _ in same)
        if keep:
            self._last = kept
        uncut = frozenset(entry.seq for entry in path if entry.message.id in set(kept))
        return SentRequest(sum(counts[id] for id in kept), leading, uncut)


# ---- data -------------------------------------------------------------------------------------
def counted(message: Message, count: int) -> Message:
    return replace(message, tokens=TokenCount(count=count, tokenizer="o200k_base", basis="counted"))


HEAD = Head.of("instructions")
HEAD = replace(HEAD, messages=tuple(counted(message, SYSTEM) for message in HEAD.messages))


def tokens(messages: Iterable[Message]) -> int:
    return sum(message.tokens.count for message in messages if message.tokens)


def line_of(entry: Entry) -> Line:
    message = entry.message
    return Line(seq=entry.seq, author=message.role[0], text=message.content or "", at=entry.at)


async def talks(file: Path, *, most: int | None) -> list[Talk]:
    ranks = O200k.find()
    if ranks is None:
        raise FileNotFoundError("the ranks of o200k_base are missing: chatsite/providers/tokens")
    return [await talk_of(dialogue, ranks) for dialogue in dialogues.read(file)[:most]]


async def talk_of(dialogue: dialogues.Dialogue, ranks: O200k) -> Talk:
    """The first of the two speakers is the user; a question is the message after the last one."""
    spoken_messages = [
        Message.user(spoken.text, id=spoken.id)
        if spoken.author == dialogue.authors[0]
        else Message.assistant(spoken.text, id=spoken.id)
        for spoken in dialogue.spoken
    ]
    questions_asked = [
        Message.user(question.text, id="question") for question in dialogue.questions
    ]
    counts = await ranks.count([*spoken_messages, *questions_asked])
    entries = [
        Entry(message=counted(message, count), seq=seq, at=spoken.at)
        for seq, (message, count, spoken) in enumerate(
            zip(spoken_messages, counts[: len(spoken_messages)], dialogue.spoken, strict=True), 1
        )
    ]
    last = len(entries) + 1
    questions = (
        (Entry(message=counted(message, count), seq=last), frozenset(n + 1 for n in q.evidence))
        for message, count, q in zip(
            questions_asked, counts[len(spoken_messages) :], dialogue.questions, strict=True
        )
    )
    return Talk(tuple(entries), tuple(questions))


# ---- the bench --------------------------------------------------------------------------------
def replay_talks(begin: Callable[[], Sender], found: Sequence[Talk]) -> Bill:
    """Send every user turn of every conversation, and then its questions."""
    bill = Bill()
    for talk in found:
        sender = begin()
        for place, entry in enumerate(talk.path, 1):
            if entry.message.role == "user":
                bill.pay(sender.send(talk.path[:place]))
        for question, evidence in talk.questions:
            bill.ask(evidence, sender.send([*talk.path, question], keep=False))
    return bill


def senders() -> dict[str, Callable[[], Sender]]:
    found: dict[str, Callable[[], Sender]] = {
        name: partial(PolicySender, template) for name, template in TEMPLATES.items()
    }
    if find_spec("langchain_core") and find_spec("llama_index"):
        found[f"langchain-core {version('langchain-core')} trim_messages"] = LangChainSender
    else:
        print("langchain-core is not installed: requirements-bench.txt has it.\n")
    return found


async def run(options: Options) -> list[Row]:
    file = options.data.get("locomo")
    if file is None:
        print(dialogues.missing(options.data))
        return []
    found = await talks(file, most=QUICK if options.quick else None)
    bills: dict[str, Bill] = {}
    for name, begin in senders().items():
        bills[name] = await asyncio.to_thread(replay_talks, begin, found)
    requests = bills["all"].requests
    questions = bills["all"].questions
    print(
        f"{requests:,} requests of {len(found)} conversations, {BUDGET:,} tokens (all: no limit), "
        f"of them {SYSTEM} of instructions;\na token read from the cache costs {READ}, another "
        f"{WRITE}. Evidence of {questions:,} questions in the same layout.\n"
    )
    head = ("policy", "tokens a request", "from cache", "units a request", "evidence / all of it")
    print(table(head, (line(name, bill) for name, bill in bills.items())))
    return [row(name, bills) for name in TARGETS]


def line(name: str, bill: Bill) -> list[str]:
    mean = bill.tokens / bill.requests
    return [name, f"{mean:,.0f}", f"{bill.share:.1%}", f"{bill.units:,.0f}", f"{bill.recall} %"]


def row(name: str, bills: dict[str, Bill]) -> Row:
    bill, base = bills[name], bills["moving window"]
    return Row(
        what=f"a request under {name} at {BUDGET:,} tokens, in tokens not cached",
        baseline=f"moving window: {base.units:,.0f} units",
        ours=f"{bill.units:,.0f} units, {bill.share:.1%} from cache, evidence {bill.recall} %",
        ratio=f"{bill.units / base.units:.2f}",
        target=TARGETS[name],
    )
