"""A turn with tools: rounds of calls, each call with a result, whatever ends the turn."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from chatsite.conversations.database.rows import message_of
from chatsite.conversations.files.uploads import characters_of
from chatsite.conversations.lifecycle import move_to_account
from chatsite.conversations.models import Conversation, Message
from chatsite.conversations.owners import Owner
from chatsite.conversations.turn.rounds import end_call
from chatsite.errors import BadCommand, ProviderError
from chatsite.events import (
    CallEnded,
    Calling,
    CallsStarted,
    Delta,
    Event,
    Relayed,
    TurnEnded,
    TurnStarted,
)
from chatsite.providers.base.provider import (
    CallBegun,
    Chunk,
    Finished,
    ReasoningPiece,
    Request,
    TextPiece,
    Usage,
    WrittenCall,
)
from chatsite.tools.tool import ToolContext, ToolError
from chatsite.turns.context.turn_context import PageRequest, TurnContext, TurnHooks
from tests.conversations.builders import counted_totals, new_id, stored_totals
from tests.turns.conftest import World, reply_script

Step = list[Chunk] | Exception


SHIPS = "Albatross Bittern Petrel Plover Curlew Dunlin".split()


class Lookup:
    """A tool that doubles a number; "boom" fails, "wait" waits until it is cancelled."""

    name = "lookup"
    description = "Doubles."
    parameters: Mapping[str, object] = {
        "type": "object",
        "properties": {"of": {}},
        "required": ["of"],
    }

    def __init__(self) -> None:
        self.asked: list[object] = []
        self.waiting = asyncio.Event()

    async def run(self, arguments: Mapping[str, object], using: ToolContext) -> object:
        of = arguments["of"]
        self.asked.append(of)
        if of == "boom":
            raise ToolError("It went boom.")
        if of == "gives up":
            raise asyncio.CancelledError
        if of == "much":
            return "word " * 20_000
        if of == "berths":
            return [{"ship": name, "berth": f"B-{1000 + n}"} for n, name in enumerate(SHIPS)]
        if of == "dense":
            return "好 " * 5_000  # as many tokens as characters
        if of == "wait":
            self.waiting.set()
            await asyncio.Event().wait()
        return {"doubled": int(str(of)) * 2}


def script_answers(world: World, *answers: Step) -> None:
    """Set the provider's answers, one a request; the last one is repeated."""
    remaining = list(answers)

    async def script(request: Request) -> AsyncGenerator[Chunk, None]:
        step = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        if isinstance(step, Exception):
            raise step
        for chunk in step:
            yield chunk

    world.provider.script = script


def calls(*of: object, **more: Any) -> list[Chunk]:
    found = [
        WrittenCall(id=f"c{n}", name="lookup", arguments=json.dumps({"of": o}))
        for n, o in enumerate(of)
    ]
    return [CallBegun("lookup"), Finished(reason="tool_calls", calls=tuple(found), **more)]


ANSWER: list[Chunk] = [TextPiece("It is 4."), Finished(reason="stop", usage=Usage(prompt=60))]


NO_TOOLS = ProviderError("No tools.", code="no_tools", again="They were refused.")


async def run_events(
    world: World, page_request: PageRequest, text: str = "Double 2"
) -> list[Event | Relayed]:
    """Run one turn and return all its events."""
    _, reader = await world.turns.snapshots.open(page_request)
    await world.turns.send(page_request, client_id=new_id(), text=text)
    events: list[Event | Relayed] = []
    while not (events and isinstance(events[-1], TurnEnded)):
        events.append(await asyncio.wait_for(reader.read(), 20))
    reader.close()
    return events


def roles(request: Request) -> list[str]:
    return [message.role for message in request.messages]


def stored_messages(page_request: PageRequest) -> list[tuple[str, str | None, str]]:
    rows = Message.objects.filter(conversation_id=page_request.conversation, on_path=True).order_by(
        "seq"
    )
    return [(row.role, row.content, row.state) for row in rows]


def create_user() -> int:
    return int(get_user_model().objects.create_user("ada").pk)


@pytest.fixture
def tool(world: World) -> Lookup:
    found = Lookup()
    world.tools = (found,)
    return found


async def test_parallel_calls_each_have_their_result_and_the_model_answers_with_them(
    world: World, tool: Lookup
) -> None:
    script_answers(
        world,
        [ReasoningPiece("Hm."), TextPiece("Let me see."), *calls(2, "boom", metadata='{"a":1}')],
        ANSWER,
    )
    page_request = world.page_request()
    events = await run_events(world, page_request)
    kinds = [type(event) for event in events]
    assert kinds.index(Calling) < kinds.index(CallsStarted) < kinds.index(CallEnded)
    started = next(event for event in events if isinstance(event, CallsStarted))
    assert [view.state for view in started.messages] == ["complete", "running", "running"]
    assert started.messages[0].message.reasoning == "Hm."

    second = world.provider.requests[1]
    assert roles(second)[-4:] == ["user", "assistant", "tool", "tool"]
    said = second.messages[-3]
    assert (said.content, said.metadata, [c.id for c in said.calls]) == (
        "Let me see.",
        '{"a":1}',
        ["c0", "c1"],
    )
    first_result, second_result = (json.loads(m.content or "") for m in second.messages[-2:])
    assert first_result == {"doubled": 4}
    assert second_result == {"error": {"name": "ToolError", "message": "It went boom."}}
    assert [spec.name for spec in second.tools] == ["lookup"] and second.may_call

    ended = events[-1]
    assert isinstance(ended, TurnEnded) and ended.state == "complete"
    assert ended.message is not None and ended.message.message.content == "It is 4."
    receipt = await world.receipt(ended)
    assert [round["calls"] for round in receipt["rounds"]] == [["lookup", "lookup"], []]
    assert receipt["asked"]["tools"] == ["lookup"]
    assert {part["name"] for part in receipt["parts"]} >= {"tools"}
    assert await world.run(stored_totals, page_request.conversation) == await world.run(
        counted_totals, page_request.conversation
    )
    # The next turn sends the whole round along.
    script_answers(world, ANSWER)
    await run_events(world, page_request, "And?")
    assert roles(world.provider.requests[-1])[1:] == [
        *("user", "assistant", "tool", "tool", "assistant", "user")
    ]


@pytest.mark.parametrize(
    ("called", "name"),
    [
        (WrittenCall(id="x", name="nothing", arguments="{}"), "UnknownTool"),
        (WrittenCall(id="x", name="lookup", arguments="{not json"), "BadArguments"),
        (WrittenCall(id="x", name="lookup", arguments='{"of": "two"}'), "ValueError"),
        (WrittenCall(id="x", name="lookup", arguments='{"of": NaN}'), "BadArguments"),
        (WrittenCall(id="x", name="lookup", arguments='{"of": 1e999}'), "BadArguments"),
        (WrittenCall(id="x", name="lookup", arguments='{"of": "gives up"}'), "Cancelled"),
        (WrittenCall(id="x", name="lookup", arguments='{"of": "\\u0000\\ud800"}'), "BadArguments"),
    ],
)
async def test_a_call_that_can_not_be_run_has_a_result_too(
    world: World, tool: Lookup, called: WrittenCall, name: str
) -> None:
    script_answers(world, [Finished(reason="tool_calls", calls=(called,))], ANSWER)
    events = await run_events(world, world.page_request())
    result = json.loads(world.provider.requests[1].messages[-1].content or "")
    assert result["error"]["name"] == name
    assert isinstance(events[-1], TurnEnded) and events[-1].state == "complete"


async def test_after_the_last_round_the_model_is_asked_without_tools(
    world: World, tool: Lookup
) -> None:
    world.fields = {"options": {"maxSteps": 2}}
    script_answers(world, calls(1), calls(2), [TextPiece("Enough."), *calls(3)])
    events = await run_events(world, world.page_request())
    assert [request.may_call for request in world.provider.requests] == [True, True, False]
    assert tool.asked == [1, 2]
    ended = events[-1]
    assert isinstance(ended, TurnEnded) and ended.state == "complete"
    assert "2 rounds" in " ".join((await world.receipt(ended))["notes"])


async def test_a_model_that_refuses_tools_is_asked_without_them_and_the_receipt_says_so(
    world: World, tool: Lookup
) -> None:
    script_answers(world, NO_TOOLS, ANSWER)
    events = await run_events(world, world.page_request())
    assert [bool(request.tools) for request in world.provider.requests] == [True, False]
    ended = events[-1]
    assert isinstance(ended, TurnEnded) and ended.state == "complete"
    assert "tools" not in (await world.receipt(ended))["asked"]
    assert "can't use tools" in " ".join((await world.receipt(ended))["notes"])


async def test_stop_during_a_call_leaves_a_marked_result_and_the_next_request_is_whole(
    world: World, tool: Lookup
) -> None:
    script_answers(world, calls(2, "wait"), ANSWER)
    page_request = world.page_request()
    _, reader = await world.turns.snapshots.open(page_request)
    await world.turns.send(page_request, client_id=new_id(), text="Double")
    seen: list[Event | Relayed] = []
    while not any(isinstance(event, CallEnded) for event in seen):
        seen.append(await asyncio.wait_for(reader.read(), 20))
    await asyncio.wait_for(tool.waiting.wait(), 20)
    assert await world.turns.stop(page_request.owner, page_request.conversation)
    while not isinstance(seen[-1], TurnEnded):
        seen.append(await asyncio.wait_for(reader.read(), 20))
    reader.close()
    ended = next(event for event in seen if isinstance(event, TurnEnded))
    assert ended.state == "stopped"
    (left,) = ended.messages
    assert "NoResult" in (left.message.content or "")
    rows = await world.run(stored_messages, page_request)
    assert [row[0] for row in rows] == ["user", "assistant", "tool", "tool"]
    assert not any(row[2] == "running" for row in rows)
    await run_events(world, page_request, "Go on")
    assert roles(world.provider.requests[-1])[1:] == ["user", "assistant", "tool", "tool", "user"]
    assert await world.run(stored_totals, page_request.conversation) == await world.run(
        counted_totals, page_request.conversation
    )


async def test_a_result_from_before_the_stop_is_stored_and_sent_to_pages(
    world: World, tool: Lookup, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored_now, go_on = threading.Event(), threading.Event()
    work = end_call._work

    def slowly(**fields: Any) -> Any:
        stored_now.set()
        go_on.wait(20)
        return work(**fields)

    monkeypatch.setattr(end_call, "_work", slowly)
    script_answers(world, calls(2), ANSWER)
    page_request = world.page_request()
    _, reader = await world.turns.snapshots.open(page_request)
    await world.turns.send(page_request, client_id=new_id(), text="Double")
    await asyncio.to_thread(stored_now.wait, 20)
    assert await world.turns.stop(page_request.owner, page_request.conversation)
    go_on.set()
    seen = [await asyncio.wait_for(reader.read(), 20)]
    while not isinstance(seen[-1], TurnEnded):
        seen.append(await asyncio.wait_for(reader.read(), 20))
    reader.close()
    (told,) = [event for event in seen if isinstance(event, CallEnded)]
    assert json.loads(told.message.message.content or "") == {"doubled": 4}
    assert (await world.run(stored_messages, page_request))[-1] == (
        "tool",
        '{"doubled": 4}',
        "complete",
    )


async def test_a_retried_answer_replaces_the_old_one_on_the_path(world: World) -> None:
    world.provider.script = reply_script("Half", error=ProviderError("Cut.", code="interrupted"))
    page_request = world.page_request()
    events = await run_events(world, page_request, "Tell me")
    ended = events[-1]
    assert isinstance(ended, TurnEnded) and ended.message is not None
    world.provider.script = reply_script("A whole one.")
    _, reader = await world.turns.snapshots.open(page_request)
    started = await world.turns.again(
        page_request, client_id=new_id(), message=ended.message.message.id, mode="again"
    )
    assert started.gone_from == ended.message.seq
    found = [await asyncio.wait_for(reader.read(), 20)]
    while not isinstance(found[-1], TurnEnded):
        found.append(await asyncio.wait_for(reader.read(), 20))
    reader.close()
    assert isinstance(found[0], TurnStarted)
    assert await world.run(stored_messages, page_request) == [
        ("user", "Tell me", "complete"),
        ("assistant", "A whole one.", "complete"),
    ]
    assert roles(world.provider.requests[-1]) == ["system", "user"]
    snapshot, reader = await world.turns.snapshots.open(page_request)
    reader.close()
    assert len(snapshot.messages[-1].versions) == 2


async def test_a_continued_answer_grows_in_its_place(world: World) -> None:
    world.provider.script = reply_script(
        "Once upon", error=ProviderError("Cut.", code="interrupted")
    )
    page_request = world.page_request()
    ended = (await run_events(world, page_request, "Tell me"))[-1]
    assert isinstance(ended, TurnEnded) and ended.message is not None
    id = ended.message.message.id
    has_read = asyncio.Event()

    async def script(request: Request) -> AsyncGenerator[Chunk, None]:
        yield TextPiece(" a")
        await has_read.wait()
        yield TextPiece(" time.")
        yield Finished(reason="stop")

    world.provider.script = script
    _, reader = await world.turns.snapshots.open(page_request)
    started = await world.turns.again(page_request, client_id=new_id(), message=id, mode="continue")
    assert (started.text, started.gone_from) == ("Once upon", ended.message.seq)
    text, deltas = started.text, []
    while not isinstance(event := await asyncio.wait_for(reader.read(), 20), TurnEnded):
        if isinstance(event, Delta):
            deltas.append(event)
            assert event.offset == len(text)
            text += event.text
            has_read.set()
    reader.close()
    # What is written last may come with the end alone.
    whole = "Once upon a time."
    assert whole.startswith(text) and deltas
    assert event.message is not None and event.message.message.id == id
    assert event.message.message.content == whole
    sent = world.provider.requests[-1].messages
    assert [m.role for m in sent] == ["system", "user", "assistant", "user"]
    assert sent[2].content == "Once upon"
    snapshot, reader = await world.turns.snapshots.open(page_request)
    reader.close()
    assert [view.message.content for view in snapshot.messages] == ["Tell me", whole]


async def test_a_result_is_stored_with_the_values_that_were_asked_for(
    world: World, tool: Lookup
) -> None:
    script_answers(world, calls("berths"), ANSWER)
    page_request = world.page_request()
    await run_events(world, page_request, "Where does the Petrel lie?")

    def stored() -> list[str | None]:
        rows = Message.objects.filter(conversation_id=page_request.conversation).order_by("seq")
        return [row.anchors for row in rows if row.role == "tool"]

    (values,) = await world.run(stored)
    assert values is not None and "berth: B-1002" in values
    assert "B-1000" not in values


async def test_results_share_the_tokens_that_are_left(world: World, tool: Lookup) -> None:
    """The echo provider's window has 4,096 tokens, a word each."""
    script_answers(world, calls("much", "dense", "much"), calls("dense"), ANSWER)
    ended = (await run_events(world, world.page_request()))[-1]
    assert isinstance(ended, TurnEnded) and ended.state == "complete"
    cut = [
        json.loads(m.content or "")
        for m in world.provider.requests[-1].messages[-5:]
        if m.role == "tool"
    ]
    assert all("there was no room" in result["cut"] for result in cut) and len(cut) == 4


async def test_a_guest_who_signs_in_while_a_tool_runs_keeps_the_turn(
    world: World, tool: Lookup
) -> None:
    user = await world.run(create_user)
    guest = Owner(guest="g" * 20)
    page_request = replace(world.page_request(), owner=guest)

    async def moved(arguments: Mapping[str, object], using: ToolContext) -> object:
        await move_to_account(guest=guest.guest, user=user)
        return "moved"

    tool.run = moved  # type: ignore[method-assign]
    script_answers(world, calls(1), ANSWER)
    ended = (await run_events(world, page_request))[-1]
    assert isinstance(ended, TurnEnded) and ended.state == "complete"


async def test_hooks_after_the_turn_get_the_account_and_the_agent_without_tools(
    world: World, tool: Lookup
) -> None:
    user = await world.run(create_user)
    guest = Owner(guest="g" * 20)
    page_request = replace(world.page_request(), owner=guest)
    after: list[TurnContext] = []
    world.turns.hooks = TurnHooks(after=after.append)

    async def moved(arguments: Mapping[str, object], using: ToolContext) -> object:
        await move_to_account(guest=guest.guest, user=user)
        return "moved"

    tool.run = moved  # type: ignore[method-assign]
    script_answers(world, calls(1), NO_TOOLS, ANSWER)
    ended = (await run_events(world, page_request))[-1]
    assert isinstance(ended, TurnEnded) and ended.state == "complete"
    while not after:  # noqa: ASYNC110 - another task's turn
        await asyncio.sleep(0)
    (context,) = after
    assert context.owner == Owner(user=user)
    assert context.agent.tools == ()


async def test_no_other_agent_answers_again_in_a_conversation(world: World) -> None:
    page_request = world.page_request()
    ended = (await run_events(world, page_request))[-1]
    assert isinstance(ended, TurnEnded) and ended.message is not None
    other = replace(page_request, agent="other")
    with pytest.raises(BadCommand, match="another agent"):
        await world.turns.again(
            other, client_id=new_id(), message=ended.message.message.id, mode="again"
        )


async def test_calls_that_share_an_id_or_have_none_get_ids_of_their_own(
    world: World, tool: Lookup
) -> None:
    same = tuple(WrittenCall(id=id, name="lookup", arguments='{"of": 1}') for id in ("x", "x", ""))
    script_answers(world, [Finished(reason="tool_calls", calls=same)], ANSWER)
    await run_events(world, world.page_request())
    assert len(world.provider.requests) == 2
    said, *answers = world.provider.requests[1].messages[-4:]
    ids = [call.id for call in said.calls]
    assert len(set(ids)) == 3 and ids[0] == "x"
    assert [message.call_id for message in answers] == ids


async def test_an_endless_id_is_replaced(world: World, tool: Lookup) -> None:
    endless = WrittenCall(id="x" * 100_000, name="lookup", arguments='{"of": 1}')
    script_answers(world, [Finished(reason="tool_calls", calls=(endless,))], ANSWER)
    await run_events(world, world.page_request())
    said, answer = world.provider.requests[1].messages[-2:]
    assert len(said.calls[0].id) < 50 and answer.call_id == said.calls[0].id


async def test_calls_and_what_their_provider_keeps_count_for_the_quota(
    world: World, tool: Lookup
) -> None:
    metadata = json.dumps({"openrouter": {"model": "m", "reasoning_details": ["x" * 500_000]}})
    script_answers(world, calls(2, 3, metadata=metadata), ANSWER)
    page_request = world.page_request()
    await run_events(world, page_request)

    def counted() -> tuple[int, int]:
        rows = Message.objects.filter(conversation_id=page_request.conversation)
        all_of_them = sum(characters_of(message_of(row)) for row in rows)
        return Conversation.objects.get(id=page_request.conversation).characters, all_of_them

    stored, expected = await world.run(counted)
    assert stored == expected > 500_000


async def test_calls_of_an_answer_that_was_cut_off_are_not_run(world: World, tool: Lookup) -> None:
    cut = WrittenCall(id="x", name="lookup", arguments="")
    script_answers(world, [TextPiece("Let me"), Finished(reason="length", calls=(cut,))], ANSWER)
    ended = (await run_events(world, world.page_request()))[-1]
    assert isinstance(ended, TurnEnded) and ended.message is not None
    assert (ended.state, ended.message.finish_reason, tool.asked) == ("complete", "length", [])


async def test_a_result_that_can_not_be_stored_is_stored_a_moment_later(
    world: World, tool: Lookup
) -> None:
    world.writes.failures["end_call"] = 1
    script_answers(world, calls(2, 3), ANSWER)
    ended = (await run_events(world, world.page_request()))[-1]
    assert isinstance(ended, TurnEnded) and ended.state == "complete"
    contents = [m.content or "" for m in world.provider.requests[1].messages[-2:]]
    assert [json.loads(content) for content in contents] == [{"doubled": 4}, {"doubled": 6}]
