"""Every way a provider fails: the message people read, the stored text, the number of requests, and
that the key is found nowhere afterwards."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.openai_server import FakeOpenAI, refused_url
from tests.person import Page, Person
from tests.running import Server
from tests.story.agents import write_agent

KEYS = ("sk-canary-openai-41d7", "sk-ant-canary-93be")
WHOLE = "".join(f" w{n}" for n in range(24))


@dataclass
class FailingProviders:
    """A server whose agents use two fake providers, and a third one that doesn't exist."""

    server: Server
    fakes: dict[str, FakeOpenAI]
    frames: list[str]

    def count_requests(self, mark: str) -> int:
        """How many requests contained this text."""
        return sum(mark in json.dumps(one) for fake in self.fakes.values() for one in fake.requests)

    def record(self, page: Page) -> None:
        self.frames += [json.dumps(event) for event in page.events]


@pytest.fixture(scope="module")
def providers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FailingProviders]:
    folder = tmp_path_factory.mktemp("failures")
    for slug, node in (("openai", "openai"), ("anthropic", "anthropic"), ("gone", "gone")):
        # A model with hidden reasoning has six times as long to begin.
        models = {"nodeConfigurations": {"llm.openai": {"model": "gpt-4.1-mini"}}}
        write_agent(folder / "agents", slug, nodes=[f"llm.{node}"], **models)
    with FakeOpenAI() as openai, FakeAnthropic() as anthropic:
        servers = {"servers": {"gone": {"base_url": refused_url(), "default_model": "m"}}}
        (folder / "models.json").write_text(json.dumps(servers))
        environment: dict[str, Any] = {
            "AGENTS_DIR": str(folder / "agents"),
            "MODELS_FILE": str(folder / "models.json"),
            "OPENAI_API_KEY": KEYS[0],
            "OPENAI_BASE_URL": openai.base_url,
            "ANTHROPIC_API_KEY": KEYS[1],
            "ANTHROPIC_BASE_URL": anthropic.base_url,
            "LOCAL_SERVERS": "off",
            "CONNECT_SECONDS": "1",
            "FIRST_TOKEN_SECONDS": "1",
            "BETWEEN_TOKENS_SECONDS": "1",
        }
        with Server(folder / "var", **environment) as server:
            found = FailingProviders(server, {"openai": openai, "anthropic": anthropic}, [])
            yield found
        assert "Traceback" not in server.log, server.log
        stored = b"".join(
            path.read_bytes() for path in Path(server.folder).glob("chatsite.sqlite3*")
        )
        for key in KEYS:
            assert any(key in json.dumps(fake.headers) for fake in found.fakes.values())
            assert key not in server.log
            assert key.encode() not in stored
            assert not any(key in frame for frame in found.frames)


@dataclass(frozen=True)
class FailureCase:
    """`fails` requests fail; if the failure `passes`, the provider then works again. `text` is the
    stored part of the answer."""

    directive: str
    code: str
    message: str
    state: str = "failed"
    fails: int = 1
    text: str = ""
    passes: bool = True


PARTIAL = " w0 w1 w2"
CASES = [
    FailureCase("mode=401", "key_refused", "rejected this site's API key"),
    FailureCase("mode=400", "bad_request", "didn't accept this request"),
    FailureCase("mode=429;retry_after=200", "rate_limited", "is kept."),
    FailureCase("mode=429;retry_after=0", "rate_limited", "busy", fails=2),
    FailureCase("mode=500;retry_after=0", "provider_down", "internal error", fails=2),
    FailureCase("mode=529;retry_after=0", "overloaded", "kept", fails=2),
    FailureCase("mode=cut;at=3", "interrupted", "connection broke", "interrupted", text=PARTIAL),
    FailureCase(
        "mode=cleancut;at=3", "interrupted", "connection broke", "interrupted", text=PARTIAL
    ),
    FailureCase(
        "mode=error_event;at=3", "failed_midway", "in the middle", "interrupted", text=PARTIAL
    ),
    FailureCase("mode=malformed;at=3", "malformed", "isn't an answer", "interrupted", text=PARTIAL),
    FailureCase("mode=hang;at=3", "timeout", "fell silent", "interrupted", text=PARTIAL),
    FailureCase("mode=hang0", "timeout", "didn't begin to answer", fails=2),
    FailureCase("mode=empty", "empty_answer", "empty answer", passes=False),
]


@pytest.mark.parametrize("agent", ["openai", "anthropic"])
@pytest.mark.parametrize("case", CASES, ids=[case.directive for case in CASES])
async def test_a_failure_is_explained_and_stored_and_the_turn_can_be_tried_again(
    providers: FailingProviders, case: FailureCase, agent: str
) -> None:
    mark = uuid.uuid4().hex
    async with Person(providers.server.url) as ada:
        page = await ada.page(agent=agent)
        ended = await page.say(f"{mark} [[{case.directive};fails={case.fails}]]")
        problem = ended["problem"]
        assert (ended["state"], problem["code"]) == (case.state, case.code)
        assert case.message in problem["message"] and "kept" in problem["message"]
        assert "sk-secret" not in json.dumps(page.events)  # the provider's own words
        assert providers.count_requests(mark) == case.fails
        waited = [event for event in page.events if event["type"] == "waiting"]
        assert len(waited) == case.fails - 1

        stored = (await page.open())["messages"]
        assert [m["content"] for m in stored][1:] == ([case.text] if case.text else [])
        # A wait that is over by then would be told to a later reader.
        assert stored[0]["problem"] == problem | {"seconds": 0}
        # Without anything of an answer the message itself is unanswered.
        assert stored[-1]["state"] == case.state

        providers.record(page)
        if not case.passes:
            return
        await page.command(
            "again", agent=agent, client_id=str(uuid.uuid4()), message=stored[-1]["id"]
        )
        assert (await page.until("turn_ended"))["state"] == "complete"
        after = (await page.open())["messages"]
        assert [m["content"] for m in after][1:] == [WHOLE]
        assert (after[0]["problem"], after[0]["state"]) == (None, "complete")
        assert len(after[-1]["versions"]) == (2 if case.text else 0)
        providers.record(page)


@pytest.mark.parametrize("agent", ["openai", "anthropic"])
async def test_a_short_wait_is_shown_before_the_answer(
    providers: FailingProviders, agent: str
) -> None:
    mark = uuid.uuid4().hex
    async with Person(providers.server.url) as ada:
        page = await ada.page(agent=agent)
        await page.send(f"{mark} [[mode=429;retry_after=1;fails=1]]")
        waiting = await page.until("waiting")
        assert "is busy" in waiting["sentence"] and waiting["seconds"] == 1
        watching = await ada.page(page.conversation, agent=agent)
        assert watching.snapshot["turn"]["waiting"] == waiting["sentence"]
        ended = await page.until("turn_ended")
        assert ended["state"] == "complete" and providers.count_requests(mark) == 2
        assert ended["receipt"]["rounds"][0]["retried"] == waiting["sentence"]
        providers.record(page)


@pytest.mark.parametrize("agent", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("mode", "reason"), [("length", "length"), ("content_filter", "content_filter")]
)
async def test_an_answer_that_ended_early_has_the_reason(
    providers: FailingProviders, agent: str, mode: str, reason: str
) -> None:
    async with Person(providers.server.url) as ada:
        page = await ada.page(agent=agent)
        ended = await page.say(f"[[mode={mode}]]")
        assert (ended["state"], ended["message"]["finish_reason"]) == ("complete", reason)
        providers.record(page)


@pytest.mark.parametrize("agent", ["openai", "anthropic"])
async def test_an_answer_that_broke_off_is_continued_in_its_place(
    providers: FailingProviders, agent: str
) -> None:
    mark = uuid.uuid4().hex
    async with Person(providers.server.url) as ada:
        page = await ada.page(agent=agent)
        broken = await page.say(f"{mark} [[mode=cut;at=3;fails=1]]")
        answer = broken["message"]["id"]
        await page.command("continue", agent=agent, client_id=str(uuid.uuid4()), message=answer)
        started = await page.until("turn_started")
        assert (started["text"], started["gone_from"]) == (PARTIAL, broken["message"]["seq"])
        ended = await page.until("turn_ended")
        assert ended["state"] == "complete" and ended["message"]["id"] == answer
        assert ended["message"]["content"].startswith(PARTIAL)
        last = providers.fakes[agent].requests[-1]["messages"]
        assert [m["role"] for m in last][-3:] == ["user", "assistant", "user"]
        providers.record(page)


async def test_an_unreachable_server_is_paused_after_some_failures(
    providers: FailingProviders,
) -> None:
    async with Person(providers.server.url) as ada:
        codes: list[Any] = []
        page = await ada.page(agent="gone")
        for number in range(4):
            ended = await page.say(f"Are you there? {number}")
            codes.append(ended["problem"]["code"])
        # Each turn sends two requests; the fifth failure in a row begins the pause.
        assert codes == ["unreachable"] * 2 + ["provider_paused"] * 2
        assert ended["problem"]["seconds"] > 0
        reloaded = await ada.page(agent="gone", conversation=page.conversation)
        stored = [one["problem"] for one in reloaded.snapshot["messages"] if one["problem"]]
        assert {one["seconds"] for one in stored} == {0}  # a wait that is over is told to nobody
        other = await ada.page(agent="openai")
        assert (await other.say("And you?"))["state"] == "complete"
        providers.record(page)
        async with ada.http.get(f"{providers.server.url}/chat?agent=openai&debug=true") as answer:
            providers.frames.append(await answer.text())


async def test_answers_that_hang_hold_up_nobody_else(server: Server, fake: FakeOpenAI) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        hanging = [await ada.page() for _ in range(3)]
        for page in hanging:
            await page.send("[[mode=hang0]]")
            await page.until("turn_started")
        page = await bob.page()
        assert (await page.say("Hello"))["state"] == "complete"
        assert await bob.ask("GET", f"/conversations/{page.conversation}/export")
        for page in hanging:
            await page.command("stop")
            assert (await page.until("turn_ended"))["state"] == "stopped"
