"""The tool `recall`: what it finds and opens of a conversation, and what it must never show."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from chatsite.conversations.lifecycle import delete_conversation
from chatsite.conversations.models import Message as Row
from chatsite.conversations.owners import Owner
from chatsite.conversations.path import added_messages as background
from chatsite.conversations.path import marks
from chatsite.conversations.records import NewTurn
from chatsite.conversations.turn.begin import begin_turn
from chatsite.conversations.turn.rounds import end_call
from chatsite.conversations.versions import deletions, edits
from chatsite.errors import NotFound
from chatsite.history import StoredRun
from chatsite.providers.openai.provider import OpenAIProvider
from chatsite.tools.tool import ToolContext, ToolError
from chatsite.turns.agents.resolved_agent import ResolvedAgent, resolve_agent
from chatsite.turns.context.turn_context import Contexts
from chatsite.turns.evidence import recall as recalling
from chatsite.turns.evidence.looking_back import PAGE, RecallTool
from chatsite.turns.evidence.recall import Recaller
from tests.conversations.builders import (
    ADA,
    BOB,
    EVERYTHING,
    begin,
    begin_round,
    end,
    messages,
    new_id,
    tool_call_message,
    tool_result,
    user_message,
)
from tests.conversations.upload_builders import Keep, folder, keep
from tests.fakes.openai_provider import provider_at
from tests.fakes.openai_server import FakeOpenAI
from tests.turns.conftest import World, settings_for, template

__all__ = ["folder", "keep"]

SECRET = "The kestrel nests under the harbour light."


class Talk:
    """A conversation in which the second of four turns holds what is looked for."""

    def __init__(self, world: World) -> None:
        self.world, self.id = world, new_id()
        self.recaller = Recaller()
        self.tool = RecallTool(self.recaller)
        self.noted: list[Any] = []

    async def turns(self, *texts: tuple[str, str]) -> None:
        def store() -> None:
            for question, answer in texts:
                end(begin(self.id, question), answer)

        await self.world.run(store)

    async def look(self, *, owner: Owner = ADA, sent: Any = (), **arguments: Any) -> Any:
        using = ToolContext(
            owner=owner, conversation=self.id, asked=10_000, sent=sent, note=self.noted.append
        )
        return await self.tool.run(arguments, using)

    async def found(self, query: str, **more: Any) -> list[str]:
        return [one["text"] for one in (await self.look(query=query, **more))["found"]]

    async def seq(self, content: str) -> int:
        return int(await self.world.run(lambda: Row.objects.get(content=content).seq))

    async def id_of(self, content: str) -> str:
        return str(await self.world.run(lambda: Row.objects.get(content=content).id))


@pytest.fixture
async def talk(world: World) -> AsyncIterator[Talk]:
    made = Talk(world)
    await made.turns(
        ("What is a quay?", "A place to moor."),
        (SECRET, "A fine place for a falcon."),
        ("What would a crane cost?", "A great deal."),
        ("And who pays?", "The town."),
    )
    yield made
    await made.recaller.drain()


async def test_a_search_gives_number_date_author_and_an_excerpt(talk: Talk) -> None:
    [first, *_] = (await talk.look(query="Where does the kestrel nest?"))["found"]
    seq = await talk.seq(SECRET)
    assert first == {
        "message": seq,
        "author": "user",
        "date": first["date"],
        "text": SECRET,
    }
    assert talk.noted[0]["query"] == "Where does the kestrel nest?"
    assert talk.noted[0]["found"][0] == seq


async def test_a_message_is_opened_whole_in_pages(talk: Talk) -> None:
    walk = "They walk on. " * (PAGE // 20)
    long = f"{walk}The berth has a buoy. {walk}"
    await talk.turns((long, "Long."))
    seq = await talk.seq(long)
    pages = [(await talk.look(message=seq, page=page)) for page in (1, 2)]
    assert "".join(page["text"] for page in pages) == long
    assert [page["page"] for page in pages] == ["1 of 2", "2 of 2"]
    assert talk.noted == [{"opened": seq, "page": 1}, {"opened": seq, "page": 2}]
    with pytest.raises(ToolError, match="no page 3"):
        await talk.look(message=seq, page=3)
    [best, *_] = await talk.found("berth buoy")
    assert "berth" in best and len(best) <= 402


async def test_what_the_request_has_whole_is_neither_found_nor_opened(talk: Talk) -> None:
    seq = await talk.seq(SECRET)
    whole, line = (StoredRun(seq, seq),), (StoredRun(seq, seq, -1),)
    assert SECRET not in await talk.found("kestrel harbour", sent=whole)
    with pytest.raises(ToolError, match="is shown to you"):
        await talk.look(message=seq, sent=whole)
    assert (await talk.look(message=seq, sent=line))["text"] == SECRET


async def test_the_result_of_a_tool_is_named_and_opened(talk: Talk) -> None:
    cracks = "Cracks at metre 40."

    def store() -> None:
        begun = begin(talk.id, "Survey the breakwater.")
        answer = new_id()
        [result], _ = begin_round(
            begun.turn, tool_call_message("survey"), id=begun.answer, answer=answer
        )
        end_call.here(turn=begun.turn, message=tool_result(result, cracks))
        end(begun, "The breakwater has cracks.")

    await talk.world.run(store)
    seq = await talk.seq(cracks)
    found = (await talk.look(query="breakwater"))["found"]
    assert [(one["author"], one["results"]) for one in found[:2]] == [
        ("user", [seq]),
        ("assistant", [seq]),
    ]
    opened = await talk.look(message=seq)
    assert (opened["author"], opened["text"]) == ("result of survey", cracks)

    # All of the turn is sent but the result, which gave way: its question leads to it.
    [asked, *_] = found
    sent = (StoredRun(1, seq - 1), StoredRun(seq, seq, -1), StoredRun(seq + 1, 99))
    [first, *_] = (await talk.look(query="breakwater", sent=sent))["found"]
    assert (first["message"], first["results"]) == (asked["message"], [seq])
    whole = (StoredRun(1, 99),)
    assert (await talk.look(query="breakwater", sent=whole))["found"] == []


async def test_the_text_of_a_file_is_opened_with_its_message(talk: Talk, keep: Keep) -> None:
    def store() -> None:
        file = keep(name="tides.txt", text="High water at nine.")
        new = NewTurn(
            owner=ADA,
            conversation=talk.id,
            agent="demo",
            client_id=new_id(),
            answer=new_id(),
            reach=EVERYTHING,
        )
        user = replace(user_message("Read this."), attachments=(file,))
        end(begin_turn.here(new, user=user, greeting=(), history={}))

    await talk.world.run(store)
    seq = await talk.seq("Read this.")
    line = (StoredRun(seq, seq, -1),)
    opened = await talk.look(message=seq, sent=line)
    assert opened["text"] == "Read this.\n\nFile: tides.txt\nHigh water at nine."


# ---- what is never shown ---------------------------------------------------------------------
Hide = Callable[[Talk], Any]


async def _exclude(talk: Talk) -> None:
    await marks.exclude_message(owner=ADA, message=await talk.id_of(SECRET), on=True)


async def _forget(talk: Talk) -> None:
    below = await talk.id_of("What would a crane cost?")
    await marks.forget_above_message(owner=ADA, message=below, on=True)


async def _delete(talk: Talk) -> None:
    await deletions.delete_message(owner=ADA, message=await talk.id_of(SECRET))
    talk.recaller.forget(talk.id)


async def _other_version(talk: Talk) -> None:
    def leave() -> None:
        messages(talk.id).filter(content=SECRET).update(on_path=False)

    await talk.world.run(leave)


HIDDEN: dict[str, Hide] = {
    "excluded": _exclude,
    "forgotten": _forget,
    "deleted": _delete,
    "another version": _other_version,
}


@pytest.mark.parametrize("searched_before", [True, False])
@pytest.mark.parametrize("hide", HIDDEN.values(), ids=HIDDEN)
async def test_what_a_person_took_out_is_never_shown(
    talk: Talk, hide: Hide, searched_before: bool
) -> None:
    seq = await talk.seq(SECRET)
    if searched_before:
        assert SECRET in await talk.found("kestrel harbour light")
    await hide(talk)
    assert SECRET not in await talk.found("kestrel harbour light")
    with pytest.raises(ToolError, match=f"Message {seq} has no page 1"):
        await talk.look(message=seq)


@pytest.mark.slow
@pytest.mark.parametrize("hide", HIDDEN.values(), ids=HIDDEN)
async def test_what_was_looked_at_is_not_sent_again_once_a_person_took_it_out(
    talk: Talk, world: World, hide: Hide
) -> None:
    ask = f"Where? [[calls=recall:{json.dumps({'message': await talk.seq(SECRET)})};text=There.]]"
    with FakeOpenAI() as fake:
        openai = provider_at(fake.base_url)
        harbour = Harbour(openai=openai, talk=talk, shown=3)
        page_request = harbour.page_request(talk.id)
        for text in (ask, "And then?"):
            await harbour.run_turn(page_request, text)
        assert SECRET in json.dumps(fake.requests[-1])
        result = await talk.world.run(lambda: Row.objects.get(role="tool").seq)
        await hide(talk)
        await harbour.run_turn(page_request, "And now?")
        await openai.aclose()
    assert SECRET not in await talk.found("kestrel harbour light")
    with pytest.raises(ToolError, match="has no page 1 to open"):
        await talk.look(message=result)
    [sent] = [one for one in fake.requests[-1]["messages"] if one["role"] == "tool"]
    assert sent["content"] == "[Result of recall, about 34 tokens, left out by the user]"


async def test_an_excluded_answer_is_not_shown_but_its_question(talk: Talk) -> None:
    answer = "A fine place for a falcon."
    seq = await talk.seq(answer)
    await marks.exclude_message(owner=ADA, message=await talk.id_of(answer), on=True)
    [best, *others] = await talk.found("falcon kestrel")
    assert best == SECRET and answer not in others
    with pytest.raises(ToolError, match="has no page 1 to open"):
        await talk.look(message=seq)


async def test_what_background_tasks_wrote_is_not_shown(talk: Talk) -> None:
    note = "Nightly: the kestrel left the harbour."

    def store() -> None:
        background.add_message.here(conversation=talk.id, text=note, source="briefing")

    await talk.world.run(store)
    assert note not in await talk.found("kestrel harbour nightly")
    with pytest.raises(ToolError, match="has no page 1 to open"):
        await talk.look(message=await talk.seq(note))


async def test_nobody_looks_into_another_owners_conversation(talk: Talk) -> None:
    seq = await talk.seq(SECRET)
    for arguments in ({"query": "kestrel"}, {"message": seq}):
        with pytest.raises(NotFound):
            await talk.look(owner=BOB, **arguments)


async def test_a_deleted_conversation_is_closed(talk: Talk) -> None:
    seq = await talk.seq(SECRET)
    await delete_conversation(owner=ADA, conversation=talk.id)
    with pytest.raises(NotFound):
        await talk.look(message=seq)


async def test_an_edited_message_is_found_with_its_new_text_alone(talk: Talk) -> None:
    await talk.found("kestrel")
    await edits.edit_message(
        owner=ADA, message=await talk.id_of(SECRET), text="The heron nests on the roof."
    )
    talk.recaller.forget(talk.id)
    assert all("kestrel" not in text for text in await talk.found("kestrel nests"))


# ---- bad questions ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "either a query or the number"),
        ({"query": "quay", "message": 2}, "either a query or the number"),
        ({"query": "what was it again?"}, "common words"),
        ({"message": 999}, "Message 999 has no page 1"),
    ],
    ids=str,
)
async def test_a_question_that_has_no_answer_says_why(
    talk: Talk, arguments: dict[str, Any], why: str
) -> None:
    with pytest.raises(ToolError, match=why):
        await talk.look(**arguments)
    assert talk.noted == []


async def test_a_long_conversation_is_searched_once_its_index_is_there(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalling, "COLD", 3)
    with pytest.raises(ToolError, match="Search again in a moment"):
        await talk.look(query="kestrel")
    await asyncio.gather(*talk.recaller._tasks)
    assert SECRET in await talk.found("kestrel")


# ---- a whole turn, with a model behind a socket ----------------------------------------------
@dataclass
class Harbour(World):
    """An agent with the tool, which a provider of the OpenAI dialect answers for."""

    openai: OpenAIProvider = field(kw_only=True)
    talk: Talk = field(kw_only=True)
    shown: int = 1

    def resolve_agent(self, agent: str, model: str = "", *, staff: bool = False) -> ResolvedAgent:
        settings = {"historyPolicy": "lastN", "historyLength": self.shown, "historyTell": True}
        made = template(**settings_for("openai"), chatSettings=settings)
        return resolve_agent(made, {"openai": self.openai}).with_tool(self.talk.tool)


@pytest.mark.slow
async def test_a_model_searches_and_opens_what_is_not_sent(talk: Talk, world: World) -> None:
    seq = await talk.seq(SECRET)
    calls = f'recall:{{"query": "kestrel"}}|recall:{{"message": {seq}}}'
    with FakeOpenAI() as fake:
        openai = provider_at(fake.base_url)
        harbour = Harbour(openai=openai, talk=talk)
        page_request = harbour.page_request(talk.id)
        _, ended = await harbour.run_turn(page_request, f"Where? [[calls={calls};text=There.]]")
        await openai.aclose()
    first, last = fake.requests
    assert SECRET not in json.dumps(first)
    assert first["messages"][-1]["content"].startswith(
        "[Not shown to you of this conversation: earlier exchanges (4). The tool `recall` finds "
        "them.]\n\nWhere? "
    )
    searched, opened = [
        json.loads(one["content"]) for one in last["messages"] if one["role"] == "tool"
    ]
    assert searched["found"][0]["message"] == seq
    assert opened["text"] == SECRET
    assert last["messages"][: len(first["messages"])] == first["messages"]
    assert ended.message and ended.message.message.content == "There."
    receipt = await harbour.receipt(ended)
    # Both ran at the same time, so either may have ended first.
    [search, *others] = sorted(receipt["looked_back"], key=lambda look: "opened" in look)
    assert (search["query"], search["found"][0]) == ("kestrel", seq)
    assert others == [{"opened": seq, "page": 1}]


async def test_a_setting_gives_every_agent_whose_model_uses_tools_the_tool(talk: Talk) -> None:
    openai = provider_at(None)
    harbour = Harbour(openai=openai, talk=talk)
    plain = resolve_agent(template(**settings_for("openai")), {"openai": openai})
    echo = World().resolve_agent("demo")
    for on, agent, names in (
        ("true", plain, ["recall"]),
        ("false", plain, []),
        ("true", harbour.resolve_agent("demo"), ["recall"]),
        ("true", replace(echo, model=replace(echo.model, tools=False)), []),
    ):
        environment = {"HISTORY_RECALL_TOOL": on}
        contexts = Contexts(
            environment=environment, resolve_agent=harbour.resolve_agent, recall=talk.tool
        )
        found = contexts.with_agent(harbour.page_request(), agent).agent
        assert [tool.name for tool in found.tools] == names
        assert found.head.recall == bool(names)
    await openai.aclose()
