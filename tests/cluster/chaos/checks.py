"""Afterwards: is everything stored once, whole, and shown everywhere as it is stored?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.cluster.chaos.people import Talker, expected_answer
from tests.cluster.chaos.record import Record
from tests.cluster.chaos.site import Site

Row = Mapping[str, Any]
TURNS = (
    "SELECT id::text, conversation_id::text, client_id, state, mode, asked_id::text, ended, "
    "started, server::text "
    "FROM conversations_turn"
)
MESSAGES = (
    "SELECT id::text, conversation_id::text, turn_id::text, role, content, state, on_path, pinned "
    "FROM conversations_message ORDER BY conversation_id, seq"
)
TITLES = "SELECT id::text, title FROM conversations_conversation"


class Stored:
    """All rows, once nothing changes any more."""

    def __init__(self, site: Site) -> None:
        self.turns = site.rows(TURNS)
        self.messages = site.rows(MESSAGES)
        self.titles = {row["id"]: row["title"] for row in site.rows(TITLES)}
        self.servers = [row["name"] for row in site.rows("SELECT name FROM conversations_server")]
        self.by_id = {row["id"]: row for row in self.messages}
        self.of_turn: defaultdict[str, list[Row]] = defaultdict(list)
        self.paths: defaultdict[str, list[Row]] = defaultdict(list)
        for row in self.messages:
            self.of_turn[row["turn_id"]].append(row)
            if row["on_path"]:
                self.paths[row["conversation_id"]].append(row)

    @property
    def answers(self) -> Counter[str]:
        return Counter(row["state"] for row in self.turns)

    def question_of(self, turn: Row) -> Row | None:
        if turn["asked_id"]:
            return self.by_id.get(turn["asked_id"])
        return next((one for one in self.of_turn[turn["id"]] if one["role"] == "user"), None)


def wrong_turns(stored: Stored) -> Iterator[str]:
    """Turns without one end, without their message, or whose answer isn't what was sent."""
    for turn in stored.turns:
        name = f"turn {turn['id']} ({turn['mode']} {turn['state']})"
        if turn["state"] == "running" or turn["ended"] is None:
            yield f"{name} has no end"
        question = stored.question_of(turn)
        if question is None:
            yield f"{name} belongs to no message"
            continue
        answers = [one for one in stored.of_turn[turn["id"]] if one["role"] == "assistant"]
        if len(answers) > 1 or (turn["state"] == "complete" and not answers):
            yield f"{name} has {len(answers)} answers"
        whole = expected_answer(question["content"])
        for answer in answers:
            text = answer["content"]
            if answer["state"] != turn["state"]:
                yield f"{name} has an answer that is {answer['state']}"
            if not whole.startswith(text) or (turn["state"] == "complete" and text != whole):
                yield f"{name} has {text!r} instead of {whole!r}"


def wrong_messages(stored: Stored, record: Record) -> Iterator[str]:
    """What was sent, accepted or shown, and isn't stored once as it was."""
    known = {(turn["client_id"], turn["id"]) for turn in stored.turns}
    ids = Counter(client_id for client_id, _ in known)
    texts = Counter(row["content"] for row in stored.messages if row["role"] == "user")
    for client_id, (turn, asked) in record.accepted.items():
        if (client_id, turn) not in known or ids[client_id] != 1:
            yield f"{client_id} was accepted as turn {turn}, and is stored {ids[client_id]} times"
        for text in asked:
            if not texts[text]:
                yield f"accepted, and not stored: {text!r}"
    for text in record.texts:
        if texts[text] > 1 or (text in record.insisted and not texts[text]):
            yield f"stored {texts[text]} times: {text!r}"
    for id, (content, state) in record.ended.items():
        row = stored.by_id.get(id)
        if row is None or (row["content"], row["state"]) != (content, state):
            yield f"shown as {state}: {content!r}, and stored: {row and dict(row)}"


def wrong_servers(stored: Stored, site: Site) -> Iterator[str]:
    running = [f"({server.process.pid})" for server in site.servers if server.process]
    if sorted(name.rpartition(" ")[2] for name in stored.servers) != sorted(running):
        yield f"rows of servers: {stored.servers}, processes: {running}"


def _shown(messages: Sequence[Row]) -> list[tuple[object, ...]]:
    return [(one["id"], one["content"], one["state"], one["pinned"]) for one in messages]


def _differs(name: str, messages: Sequence[Row], path: Sequence[Row]) -> Iterator[str]:
    """The newest messages of the path, of which a page shows a part."""
    shown, stored = _shown(messages), _shown(path)
    wanted = stored[-len(shown) :] if shown else stored
    if shown != wanted:
        yield f"{name} shows {[one for one in shown if one not in stored]} beside what is stored"
        yield f"{name} lacks {[one for one in wanted if one not in shown]}"


async def wrong_pages(stored: Stored, site: Site, people: Sequence[Talker]) -> list[str]:
    """What pages that were open all the time show, and pages opened anew on every server."""
    found: list[str] = []
    for talker in people:
        for page in talker.pages:
            name = f"the page of {talker.name} at {page.url}, open for long,"
            path = stored.paths[page.conversation]
            differences = list(_differs(name, page.path, path))
            if differences:
                of = [one for one in stored.turns if one["conversation_id"] == page.conversation]
                found += [*differences, *page.told, *(str(dict(one)) for one in of)]
            if page.title != stored.titles.get(page.conversation, ""):
                found.append(f"{name} has the title {page.title!r}")
        for conversation in talker.conversations:
            for server in site.servers:
                opened = await talker.person.page(conversation, at=server.url)
                await opened.close()
                name = f"a new page of {talker.name} at {server.url}"
                messages = opened.snapshot["messages"]
                found += _differs(name, messages, stored.paths[conversation])
                if opened.snapshot["turn"] is not None:
                    found.append(f"{name} shows an answer that is being written")
    return found
