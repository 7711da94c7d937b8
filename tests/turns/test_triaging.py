"""The fast model asked which turns matter, over a real socket; and what follows when it fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from chatsite.agents.template_file import parse_template
from chatsite.history import Evidence, Transcript, resolve
from chatsite.history.path.transcript import Entry
from chatsite.messages import Message
from chatsite.providers.base.provider import Provider
from chatsite.providers.echo import EchoProvider
from chatsite.turns.agents.resolved_agent import resolve_agent
from chatsite.turns.context.decider import DecisionInputs
from chatsite.turns.evidence.triage import Triager
from tests.fakes.openai_provider import provider_at
from tests.fakes.openai_server import FakeOpenAI
from tests.history.older_turns import turns_of
from tests.pseudo_language import is_said, pseudo_language
from tests.turns.conftest import context_of

Gather = Callable[..., "asyncio.Task[Evidence]"]
ALL_KEPT = "so nothing of the last 25 turns is left out while there is room."


@pytest.fixture(scope="module")
def shared() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
def fake(shared: FakeOpenAI) -> FakeOpenAI:
    shared.script.clear()
    shared.requests.clear()
    return shared


def decision_inputs(
    provider: Provider,
    *,
    turns: int = 9,
    preview: bool = False,
    conversation: Mapping[str, object] | None = None,
) -> DecisionInputs:
    """Turns with the numbers 1, 3, 5 ... and a current message "And now?"."""
    chat = {
        "historyPolicy": "relevant",
        "historySelector": "triage",
        "conversation": conversation or {},
    }
    described = {"name": "Memo", "personality": "", "nodes": [f"llm.{provider.kind}"]}
    agent = resolve_agent(
        parse_template("demo", {**described, "chatSettings": chat}), {provider.kind: provider}
    )
    older = [entry for turn in turns_of(turns) for entry in turn.entries]
    current = Entry(message=Message.user("And now?", id="now"), seq=1 + 2 * turns)
    return DecisionInputs(
        context=context_of(agent, resolve(environment={}, url={}, template=chat)),
        transcript=Transcript(entries=(*older, current)),
        head=agent.head,
        preview=preview,
    )


async def gather(fake: FakeOpenAI, *script: str, **options: Any) -> Evidence:
    fake.script.extend(script)
    provider = provider_at(fake.base_url)
    try:
        return await Triager().gather(decision_inputs(provider, **options))
    finally:
        await provider.aclose()


def report(evidence: Evidence) -> dict[str, Any]:
    return dict(evidence.reports["triage"])


async def test_the_model_chooses_by_positions_and_the_receipt_tells_what_it_cost(
    fake: FakeOpenAI,
) -> None:
    evidence = await gather(fake, '{"relevant": [0, 2, 2, 9, true]}')
    assert evidence.triaged is not None and evidence.triaged.turns == {1, 5}
    assert evidence.notes == ()
    told = report(evidence)
    assert told.pop("milliseconds") >= 0
    assert 100 < told.pop("estimated_prompt") < 2_000
    assert told.pop("prompt") > 100
    assert told == {
        "result": "chosen",
        "model": "gpt-4o-mini",
        "asked": True,
        "candidates": 4,
        "chosen": 2,
        "cached": 0,
        "completion": 6,
    }
    asked = json.dumps(fake.requests[-1]["messages"])
    assert "question 1" in asked and "question 7" in asked and "And now?" in asked
    assert "question 9" not in asked, "it is sent anyway"


async def test_an_empty_list_is_a_choice(fake: FakeOpenAI) -> None:
    evidence = await gather(fake, '```json\n{"relevant": []}\n```')
    assert evidence.triaged is not None and evidence.triaged.turns == frozenset()
    assert report(evidence)["chosen"] == 0 and evidence.notes == ()


@pytest.mark.parametrize(
    ("script", "result", "why"),
    [
        ("I'd say the first one.", "unreadable", "didn't say readably which older turns matter"),
        (
            '[[mode=length;text={"relevant": [1]}]]',
            "unreadable",
            "broke off while it said which older turns matter",
        ),
        ("[[mode=500]]", "error", "(the provider reported an internal error)"),
        ("[[mode=401]]", "error", "(the provider rejected this site's API key)"),
        ("[[mode=cut]]", "error", "(the connection broke before the answer was complete)"),
        ("[[mode=hang0]]", "timeout", "hadn't said which older turns matter after 0.2 seconds"),
        ("[[mode=hang;at=1]]", "timeout", "hadn't said which older turns matter after 0.2 seconds"),
    ],
)
async def test_if_the_model_can_not_choose_nothing_is_left_out_and_a_note_says_why(
    fake: FakeOpenAI, script: str, result: str, why: str
) -> None:
    seconds = 0.2 if result == "timeout" else 30
    evidence = await gather(fake, script, conversation={"selection_timeout": seconds})
    assert evidence.triaged is None
    (note,) = evidence.notes
    assert note.startswith("gpt-4o-mini ") and "which older turns matter" in note
    assert why in note and note.endswith(ALL_KEPT)
    told = report(evidence)
    assert (told["result"], told["chosen"], told["candidates"]) == (result, None, 4)
    assert told["asked"] and told["milliseconds"] >= 0 and told["estimated_prompt"] > 100
    if result == "unreadable":
        assert told["prompt"] > 100 and told["completion"] > 0, "it was charged all the same"


async def test_no_model_is_asked_where_there_is_nothing_to_choose(fake: FakeOpenAI) -> None:
    for options in ({"turns": 3}, {"turns": 5}, {"conversation": {"use_selection": False}}):
        evidence = await gather(fake, **options)
        assert evidence.triaged is not None and evidence.notes == ()
        assert report(evidence)["result"] == "nothing to choose"
        assert report(evidence)["asked"] is False
    assert fake.requests == []


async def test_a_provider_that_can_not_judge_leaves_nothing_out() -> None:
    for preview in (True, False):
        evidence = await Triager().gather(decision_inputs(EchoProvider(), preview=preview))
        assert evidence.triaged is None
        assert evidence.notes == (
            f"Echo (no model) can't judge which older turns matter, {ALL_KEPT}",
        )
        assert report(evidence)["result"] == "no model"


async def test_a_preview_asks_nobody_and_says_so(fake: FakeOpenAI) -> None:
    evidence = await gather(fake, preview=True)
    assert evidence.triaged is None
    assert evidence.notes == (
        "Which older turns go along is chosen on sending: gpt-4o-mini is asked about 4 of them.",
    )
    assert report(evidence)["result"] == "on sending" and fake.requests == []


async def test_the_model_that_chooses_may_be_named(fake: FakeOpenAI) -> None:
    said = {"selection_model": "judge"}
    evidence = await gather(fake, '{"relevant": [1]}', conversation=said)
    assert fake.requests[-1]["model"] == report(evidence)["model"] == "judge"
    assert evidence.notes == ()


async def test_a_note_says_that_another_model_than_the_named_one_chose(fake: FakeOpenAI) -> None:
    fake.script.append('{"relevant": [1]}')
    provider = provider_at(fake.base_url, model="local")
    made = decision_inputs(provider, conversation={"selection_model": "judge"})
    evidence = await Triager().gather(made)
    await provider.aclose()
    assert fake.requests[-1]["model"] == "local"
    assert evidence.notes == ("judge was to choose among older turns; local is asked here.",)


async def test_forgotten_messages_are_never_sent_to_the_model(fake: FakeOpenAI) -> None:
    provider = provider_at(fake.base_url)
    made = decision_inputs(provider, conversation={"always_include_recent": 1})
    *older, current = made.transcript.entries
    below = Entry(message=current.message, seq=current.seq, forgets_above=True)
    for marked in ([*older, below], [*older[:14], _marked(older[14]), *older[15:], current]):
        object.__setattr__(made, "transcript", Transcript(entries=tuple(marked)))
        evidence = await Triager().gather(made)
        assert report(evidence)["result"] == "nothing to choose"
    await provider.aclose()
    assert fake.requests == []


def _marked(entry: Entry) -> Entry:
    return Entry(message=entry.message, seq=entry.seq, forgets_above=True)


async def test_a_stop_cancels_the_question_to_the_model_too(fake: FakeOpenAI) -> None:
    fake.script.append("[[mode=hang0]]")
    provider = provider_at(fake.base_url)
    page_request = asyncio.create_task(Triager().gather(decision_inputs(provider)))
    await _until(lambda: fake.in_flight == 1)
    page_request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await page_request
    await _until(lambda: fake.in_flight == 0)
    await provider.aclose()


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - the server lives in another thread
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("script", ["I'd say the first one.", "[[mode=500]]", "[[mode=401]]"])
async def test_the_note_is_in_the_persons_language_and_the_question_to_the_model_is_not(
    fake: FakeOpenAI, script: str
) -> None:
    with pseudo_language():
        evidence = await gather(fake, script, conversation={"selection_model": "gpt-4o"})
    assert evidence.notes and all(map(is_said, evidence.notes)), evidence.notes
    assert fake.requests and "⟦" not in json.dumps(fake.requests[-1], ensure_ascii=False)
