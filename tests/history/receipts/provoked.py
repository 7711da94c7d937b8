"""Conversations whose cache is lost on purpose, at a provider that compares what it really gets.

`Talk` decides as a turn does and keeps receipts as they are stored. `CachingProvider` knows nothing
of them: it compares texts with the requests that it has kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from random import Random
from typing import Any

from chatsite.history import (
    Decision,
    Entry,
    Evidence,
    Head,
    Previous,
    RunningSummary,
    Transcript,
    Window,
    decide,
    resolve,
)
from chatsite.history.path.added_messages import summary_message
from chatsite.history.receipts.cache_miss import CacheReport, CacheRules, report_cache
from chatsite.history.receipts.difference import SentRequest
from chatsite.messages import Message, TokenCount, ToolCall
from chatsite.turns.answer.sent_requests import request_fingerprint
from conformance_kit.cases import with_tokens
from tests.conformance.built_in.variants import cleaner

WORDS = "harbour quay tide lamp crane rope ledger winter survey cost mooring pilot".split()
OPENAI = CacheRules(least=1_024, step=128, kept=(300, 3_600), premium=0.9e-6)
ANTHROPIC = CacheRules(least=1_024, kept=(300, 300), premium=2.3e-6)
ENGINE = CacheRules(local=True)


@dataclass
class CachingProvider:
    """Keeps prompts for `rules.kept` at the longest. Its tokens are `factor` of ours."""

    rules: CacheRules
    factor: float = 1.0
    seen: list[tuple[float, str, list[tuple[str, int]]]] = field(default_factory=list)

    def read(self, at: float, key: str, prompt: list[tuple[str, int]]) -> tuple[int, int]:
        """The tokens of a prompt, and how many of them were kept; `key` names model and server."""
        longest = self.rules.kept[1] if self.rules.kept else 1e9
        best = 0
        for then, other, before in self.seen:
            if other == key and at - then <= longest:
                pairs = zip(before, prompt, strict=False)
                same = takewhile(lambda pair: pair[0] == pair[1], pairs)
                best = max(best, sum(tokens for _, (_, tokens) in same))
        self.seen.append((at, key, prompt))
        total = round(sum(tokens for _, tokens in prompt) * self.factor)
        return total, self.rules.reusable(best * self.factor)


@dataclass
class Talk:
    """A conversation with everything that may change between two requests."""

    random: Random
    rules: CacheRules = OPENAI
    template: dict[str, Any] = field(default_factory=lambda: {"historyPolicy": "all"})
    window: Window = Window(20_000, 1_000)
    personality: str = "You are helpful. " + "Be brief, be kind. " * 300
    tools: list[str] = field(default_factory=list)
    tool_tokens: int = 0
    model: str = "gpt-x"
    server: str = "a"
    clock: float = 0.0
    entries: list[Entry] = field(default_factory=list)
    next_seq: int = 1
    evidence: Evidence = Evidence()
    cleans: bool = False
    factor: float = 1.0

    def __post_init__(self) -> None:
        self.provider = CachingProvider(self.rules, self.factor)
        self.last: SentRequest | None = None
        self.decision: Decision | None = None

    # ---- what is said -----------------------------------------------------------------------
    def words(self, count: int) -> str:
        return " ".join(self.random.choice(WORDS) for _ in range(count))

    def ask(
        self, words: int = 0, *, reply_to: str | None = None, answer: int = 0, result: int = 0
    ) -> CacheReport:
        """One turn; the report on its request. A tool's `result` has so many words."""
        question = Message.user(self.words(words or self.random.randint(60, 160)), id=self._id())
        self._store(replace(question, reply_to=reply_to))
        report = self._send()
        if result:
            call = ToolCall(id=f"c{self.next_seq}", name="clock", arguments={})
            self._store(replace(Message.assistant("", id=self._id()), calls=(call,)))
            self._store(Message.tool(self.words(result), call_id=call.id, id=self._id()))
        said = self.words(answer or self.random.randint(80, 240))
        self._store(Message.assistant(said, id=self._id()))
        self.clock += self.random.uniform(20, 120)
        return report

    def _id(self) -> str:
        return f"m{self.next_seq}"

    def _store(self, message: Message) -> None:
        self.entries.append(Entry(message=with_tokens(message), seq=self.next_seq))
        self.next_seq += 1

    def change(self, place: int, **fields: Any) -> None:
        self.entries[place] = replace(self.entries[place], **fields)

    def edit(self, place: int) -> None:
        text = self.words(self.random.randint(60, 160))
        message = replace(self.entries[place].message, content=text)
        self.change(place, message=with_tokens(message))

    # ---- what is sent -----------------------------------------------------------------------
    @property
    def head(self) -> Head:
        made = Head.of(self.personality)
        counted = tuple(with_tokens(message) for message in made.messages)
        return replace(made, messages=counted, tools=self.tool_tokens)

    def _send(self) -> CacheReport:
        previous = Previous.from_dict(self.last.receipt) if self.last else None
        decision = self.decision = decide(
            Transcript(entries=tuple(self.entries)),
            resolve(environment={}, url={}, template=self.template),
            head=self.head,
            window=self.window,
            evidence=replace(self.evidence, previous=previous),
            agent="demo",
            cleanup=cleaner({}) if self.cleans else None,
        )
        for seq in decision.unloads:
            self._unload(seq)
        now = SentRequest(
            receipt=self._receipt(decision),
            sizes={one.seq: one.message.tokens.count for one in self.entries if one.message.tokens},
            at=self.clock,
            server=self.server,
        )
        report = report_cache(self.last, now, self.rules)
        self.last = now
        return report

    def _unload(self, first: int) -> None:
        turn = [one for one in self.entries if one.seq in (first, first + 1)]
        for one in turn:
            message = replace(one.message, kv_status=-1)
            self.change(self.entries.index(one), message=message)

    def _receipt(self, decision: Decision) -> Mapping[str, Any]:
        """As it is stored, with what the provider reported."""
        prompt = [("tools " + " ".join(self.tools), self.tool_tokens)]
        prompt += [
            (f"{message.role} {message.content}", message.tokens.count if message.tokens else 0)
            for message in decision.request
        ]
        key = f"{self.model} {self.server if self.rules.local else ''}"
        total, cached = self.provider.read(self.clock, key, prompt)
        found = decision.to_stored() | {
            "provider": {"kind": "openai", "model": self.model},
            "asked": {"tools": self.tools} if self.tools else {},
            "fingerprint": request_fingerprint(decision.request),
            "reported": {"prompt": total, "cached": cached, "completion": 100, "cost": 0.001},
        }
        stored: Mapping[str, Any] = json.loads(json.dumps(found))
        return stored


# ---- provocations: each names the cause that it provokes ---------------------------------------
Provocation = Callable[[Random], CacheReport]


def _talk(random: Random, turns: int, **fields: Any) -> Talk:
    fields.setdefault("rules", random.choice((OPENAI, ANTHROPIC)))
    talk = Talk(random=random, factor=random.choice((1.0, 0.9, 1.15)), **fields)
    for _ in range(turns):
        talk.ask()
    return talk


def _older(talk: Talk) -> int:
    """A user message's place, with enough behind it."""
    return 2 * talk.random.randint(0, 2)


def cut_by_budget(random: Random) -> CacheReport:
    talk = Talk(
        random=random,
        template={"historyPolicy": "tokens", "historyTokens": random.choice((4_000, 5_000))},
        personality="You are helpful. " + "Be brief. " * 60,
    )
    for _ in range(60):
        before = talk.decision.cut if talk.decision else None
        report = talk.ask()
        if talk.decision and before is not None and talk.decision.cut != before:
            return report
    raise AssertionError("the cut never moved")


def cut_by_length(random: Random) -> CacheReport:
    length = random.randint(6, 10)
    template = {"historyPolicy": "lastN", "historyLength": length, "historyStep": 3}
    talk = _talk(random, length, template=template)
    return talk.ask()


def moving_window(random: Random) -> CacheReport:
    length = random.randint(6, 10)
    talk = _talk(random, length + 2, template={"historyPolicy": "lastN", "historyLength": length})
    return talk.ask()


def edited(random: Random) -> CacheReport:
    talk = _talk(random, random.randint(8, 14))
    talk.edit(_older(talk) + random.randint(0, 1))
    return talk.ask()


def deleted(random: Random) -> CacheReport:
    talk = _talk(random, random.randint(8, 14))
    place = _older(talk)
    del talk.entries[place : place + 2]
    return talk.ask()


def restored(random: Random) -> CacheReport:
    talk = _talk(random, random.randint(8, 14))
    place = _older(talk)
    gone = talk.entries[place : place + 2]
    del talk.entries[place : place + 2]
    talk.ask()
    talk.entries[place:place] = gone
    del talk.provider.seen[:-1]  # it keeps only the last request
    return talk.ask()


def pinned(random: Random) -> CacheReport:
    talk = _talk(
        random, 14, template={"historyPolicy": "lastN", "historyLength": 9, "historyStep": 9}
    )
    talk.change(_older(talk), pinned=True)
    return talk.ask()


def unpinned(random: Random) -> CacheReport:
    talk = _talk(
        random, 2, template={"historyPolicy": "lastN", "historyLength": 9, "historyStep": 9}
    )
    talk.change(0, pinned=True)
    for _ in range(14):
        talk.ask()
    talk.change(0, pinned=False)
    return talk.ask()


def excluded(random: Random) -> CacheReport:
    talk = _talk(random, random.randint(8, 14))
    talk.change(_older(talk), excluded=True)
    return talk.ask()


def taken_back(random: Random) -> CacheReport:
    talk = _talk(random, random.randint(8, 14))
    place = _older(talk)
    talk.change(place, excluded=True)
    talk.ask()
    talk.change(place, excluded=False)
    del talk.provider.seen[:-1]  # it keeps only the last request
    return talk.ask()


def forgotten(random: Random) -> CacheReport:
    talk = _talk(random, random.randint(9, 14))
    talk.change(_older(talk) + 2, forgets_above=True)
    return talk.ask()


def replied(random: Random) -> CacheReport:
    talk = _talk(
        random, 14, template={"historyPolicy": "lastN", "historyLength": 9, "historyStep": 9}
    )
    return talk.ask(reply_to=talk.entries[_older(talk)].message.id)


def other_tools(random: Random) -> CacheReport:
    tools = ["clock", "weather", "search"]
    talk = _talk(random, random.randint(6, 12), tools=tools, tool_tokens=300)
    how = random.randint(0, 2)
    talk.tools = [tools[::-1], tools[:2], tools][how]
    talk.tool_tokens = [300, 200, 320][how]
    return talk.ask()


def other_instructions(random: Random) -> CacheReport:
    talk = _talk(random, random.randint(6, 12))
    talk.personality = "Speak as a pilot. " + talk.personality
    return talk.ask()


def other_model(random: Random) -> CacheReport:
    talk = _talk(random, random.randint(6, 12))
    talk.model = "gpt-y"
    return talk.ask()


def other_settings(random: Random) -> CacheReport:
    talk = _talk(random, random.randint(10, 14))
    talk.template = {"historyPolicy": "lastN", "historyLength": random.randint(5, 7)}
    return talk.ask()


def expired(random: Random) -> CacheReport:
    talk = _talk(random, random.randint(6, 12))
    talk.clock += 3_700
    return talk.ask()


def expired_behind_an_edit(random: Random) -> CacheReport:
    talk = _talk(random, random.randint(6, 12))
    talk.edit(_older(talk) + 4)
    talk.clock += 3_700
    return talk.ask()


def lost_by_the_provider(random: Random) -> CacheReport:
    talk = _talk(random, random.randint(6, 12))
    talk.provider.seen.clear()
    return talk.ask()


def new_summary(random: Random) -> CacheReport:
    template = {"historyPolicy": "summary", "historyTokens": 4_500}
    talk = Talk(random=random, template=template, personality="You are helpful. " + "Hm. " * 300)
    for turn in range(16):
        if turn >= 8:
            talk.evidence = Evidence(summary=_summary(talk, 2 + 8 * (turn // 15)))
        report = talk.ask()
    return report


def _summary(talk: Talk, last: int) -> RunningSummary:
    text = talk.entries[last].message.content or ""
    message = with_tokens(summary_message(text, TokenCount(count=0, tokenizer="", basis="counted")))
    assert message.tokens
    return RunningSummary(
        id=f"s{last}",
        version=last,
        text=text,
        first=1,
        last=last,
        messages=last,
        by="small",
        tokens=message.tokens,
    )


def cleaned_up(random: Random) -> CacheReport:
    talk = Talk(
        random=random, rules=ENGINE, cleans=True, window=Window(4_000, 500), personality="Hi."
    )
    for _ in range(60):
        report = talk.ask()
        if talk.decision and talk.decision.unloads:
            return report
    raise AssertionError("nothing was unloaded")


def _with_results(random: Random, **template: object) -> Talk:
    talk = Talk(random=random, window=Window(7_000, 1_000), personality="Hi. " * 400)
    talk.template = {"historyPolicy": "all", **template}
    return talk


def gave_way(random: Random) -> CacheReport:
    talk = _with_results(random, historyKeepResults=1)
    for _ in range(30):
        report = talk.ask(result=random.randint(150, 300))
        if talk.decision and talk.decision.gave_way[0]:
            return report
    raise AssertionError("no result gave way")


def left_out_result(random: Random) -> CacheReport:
    talk = _with_results(random)
    for _ in range(4):
        talk.ask(result=200)
    talk.change(2, excluded=True)
    return talk.ask()


def too_small(random: Random) -> CacheReport:
    talk = Talk(random=random, personality="Hi.")
    talk.ask(20, answer=30)
    return talk.ask(20, answer=30)


def other_server(random: Random) -> CacheReport:
    talk = _talk(random, random.randint(6, 12), rules=ENGINE)
    talk.server = "b"
    return talk.ask()


def other_slot(random: Random) -> CacheReport:
    talk = _talk(random, random.randint(6, 12), rules=ENGINE)
    talk.provider.seen.clear()
    return talk.ask()


PROVOKED: Sequence[tuple[str, Provocation]] = (
    ("cut", cut_by_budget),
    ("cut", cut_by_length),
    ("cut", moving_window),
    ("edited", edited),
    ("edited", deleted),
    ("edited", restored),
    ("mark", pinned),
    ("mark", unpinned),
    ("mark", excluded),
    ("mark", taken_back),
    ("mark", forgotten),
    ("mark", replied),
    ("tools", other_tools),
    ("instructions", other_instructions),
    ("model", other_model),
    ("settings", other_settings),
    ("expired", expired),
    ("expired", expired_behind_an_edit),
    ("provider", lost_by_the_provider),
    ("summary", new_summary),
    ("cleanup", cleaned_up),
    ("gave_way", gave_way),
    ("mark", left_out_result),
    ("too_small", too_small),
    ("server", other_server),
    ("slot", other_slot),
)
