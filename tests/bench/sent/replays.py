"""Replays conversations: every message of the user is sent, and each question in its place.

    from tests.bench.sent.replays import Plan, bills_of
    plan = Plan(template={"historyPolicy": "relevant"}, limit=4_000)
    bill = bills_of(Path("locomo10.json"), {"ours": plan}, processes=2)["ours"]
    print(bill.units, bill.by_message, bill.all_of_it)

All plans are replayed together, so that each message is searched for once.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from chatsite.history import Entry
from chatsite.providers.tokens.sentence_vectors import SentenceVectors
from tests.bench import dialogues
from tests.bench.dialogues import Dialogue
from tests.bench.sent.bill import Bill, SentRequest, in_time
from tests.bench.sent.senders import Plan, Search, Sender, sender_of
from tests.bench.sent.talks import Asked, Talk, talk_of

__all__ = ["Bill", "Plan", "bills_of"]

Bills = dict[str, Bill]


def bills_of(
    file: Path,
    plans: Mapping[str, Plan],
    *,
    processes: int = 1,
    most: int | None = None,
    kinds: frozenset[str] = frozenset(),
    progress: bool = True,
) -> Bills:
    """A bill for each plan, over all conversations of the file or its first `most`.

    Only questions of these `kinds` are asked, all where it is empty. `processes` share the
    conversations; `progress` on stderr.
    """
    found = dialogues.read(file)[:most]
    total: Bills = {name: Bill() for name in plans}
    for number, bills in enumerate(_replayed(found, plans, kinds, processes), 1):
        for name, bill in bills.items():
            total[name].add(bill)
        if progress:
            print(f"{file.name}: {number} of {len(found)}", file=sys.stderr, flush=True)
    return total


def _replayed(
    found: Sequence[Dialogue], plans: Mapping[str, Plan], kinds: frozenset[str], processes: int
) -> Iterator[Bills]:
    if processes == 1:
        for dialogue in found:
            yield replay_dialogue(dialogue, plans, kinds)
        return
    # Forked, a process would share the threads of the tokenizers' libraries.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        longest_first = sorted(found, key=lambda dialogue: -len(dialogue.spoken))
        work = [pool.submit(replay_dialogue, one, plans, kinds) for one in longest_first]
        for done in as_completed(work):
            yield done.result()


def replay_dialogue(dialogue: Dialogue, plans: Mapping[str, Plan], kinds: frozenset[str]) -> Bills:
    """One conversation's bills. FileNotFoundError where a plan needs vectors and none are there."""
    vectors = SentenceVectors.find() if any(plan.vectors for plan in plans.values()) else None
    if vectors is None and any(plan.vectors for plan in plans.values()):
        raise FileNotFoundError("no sentence vectors are installed: make embeddings")
    talk = asyncio.run(talk_of(dialogue))
    return _replay(talk, plans, kinds, Search(vectors))


def _replay(talk: Talk, plans: Mapping[str, Plan], kinds: frozenset[str], search: Search) -> Bills:
    bills: Bills = {name: Bill() for name in plans}
    senders = {name: sender_of(plan) for name, plan in plans.items()}
    last: Entry | None = None
    for place in range(len(talk.path) + 1):
        asked = [one for one in talk.questions.get(place, ()) if not kinds or one.kind in kinds]
        entry = talk.path[place] if place < len(talk.path) else None
        before = talk.path[:place]
        # An ordinary message that is asked about too is one request.
        ordinary = [one for one in asked if _is_this(one, entry)]
        for one in asked:
            if one not in ordinary:
                for name, sender in senders.items():
                    bills[name].ask(one.evidence, _asked(sender, one, before, search))
        if entry is None or entry.message.role != "user":
            continue
        kept = in_time(last.at if last else None, entry.at)
        path = (*before, entry)
        for name, sender in senders.items():
            sent = sender.send(path, search)
            if sent is None:
                bills[name].refused += 1
            else:
                bills[name].pay(sent, in_time=kept)
            for one in ordinary:
                bills[name].ask(one.evidence, _whole(sent))
        last = entry
    return bills


def _is_this(question: Asked, entry: Entry | None) -> bool:
    if entry is None or entry.message.role != "user":
        return False
    return question.entry.message.content == entry.message.content


def _asked(sender: Sender, one: Asked, before: Sequence[Entry], search: Search) -> frozenset[int]:
    return _whole(sender.send((*before, one.entry), search, keep=False))


def _whole(sent: SentRequest | None) -> frozenset[int]:
    return sent.whole if sent else frozenset()
