"""Which source decides what the model gets: the receipt names it, the request proves it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.running import Server
from tests.story.agents import PERSONALITY, write_agents
from tests.story.conftest import provider_environment

TURNS = 5


@dataclass(frozen=True, kw_only=True)
class Case:
    """`keep` of `TURNS` user messages reach the model. `outcomes` has the outcome of a setting at a
    source; `source` is the one that the facts name."""

    query: str = ""
    agent: str = "demo"
    policy: str
    length: str
    source: str
    keep: int
    locked: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    outcomes: dict[tuple[str, str], str] = field(default_factory=dict)


LINK_ALL = "historyPolicy=all&debug=true"
ENVIRONMENT = {
    "the environment over a link": Case(
        environment={"HISTORY_POLICY": "lastN", "HISTORY_LENGTH": "2"},
        query=LINK_ALL,
        policy="lastN",
        length="2",
        source="environment",
        keep=2,
        locked=True,
        outcomes={
            ("policy", "environment"): "won",
            ("policy", "URL"): "locked",
            ("policy", "template"): "overruled",
            ("length", "environment"): "won",
            ("length", "URL"): "absent",
        },
    ),
    "only the policy set": Case(
        environment={"HISTORY_POLICY": "lastN"},
        query="historyLength=1",
        policy="lastN",
        length="3",
        source="environment, length: template",
        keep=3,
        locked=True,
        outcomes={("length", "URL"): "locked", ("length", "template"): "won"},
    ),
    "only the length set": Case(
        environment={"HISTORY_LENGTH": "2"},
        query=LINK_ALL,
        policy="lastN",
        length="2",
        source="template, length: environment",
        keep=2,
        locked=True,
        outcomes={("policy", "URL"): "locked", ("policy", "template"): "won"},
    ),
    "a length of 0": Case(
        environment={"HISTORY_LENGTH": "0"},
        query="historyLength=9",
        policy="lastN",
        length="0, acts as 1",
        source="template, length: environment",
        keep=1,
        locked=True,
        outcomes={("length", "environment"): "won", ("length", "URL"): "locked"},
    ),
    "AgentDock's name of the length": Case(
        environment={"NEXT_PUBLIC_DEFAULT_HISTORY_LENGTH": "2"},
        query="historyPolicy=all",
        policy="lastN",
        length="2",
        source="template, length: environment",
        keep=2,
        locked=True,
        outcomes={("length", "environment"): "won", ("policy", "URL"): "locked"},
    ),
    "AgentDock's name of the policy": Case(
        environment={"NEXT_PUBLIC_DEFAULT_HISTORY_POLICY": "all"},
        query="historyPolicy=none",
        policy="all",
        length="",
        source="environment",
        keep=TURNS,
        locked=True,
        outcomes={("policy", "environment"): "won", ("policy", "URL"): "locked"},
    ),
    "none": Case(
        environment={"HISTORY_POLICY": "none"},
        query=LINK_ALL,
        policy="none",
        length="",
        source="environment",
        keep=1,
        locked=True,
        outcomes={("policy", "URL"): "locked"},
    ),
    "all": Case(
        environment={"HISTORY_POLICY": "all"},
        query="historyPolicy=lastN&historyLength=1",
        policy="all",
        length="",
        source="environment",
        keep=TURNS,
        locked=True,
        outcomes={("policy", "URL"): "locked", ("length", "URL"): "locked"},
    ),
    "links switched off": Case(
        environment={"HISTORY_URL": "off"},
        query=LINK_ALL,
        policy="lastN",
        length="3",
        source="template",
        keep=3,
        outcomes={("policy", "URL"): "not allowed", ("policy", "template"): "won"},
    ),
    "links longer than allowed": Case(
        environment={"HISTORY_MAX_LENGTH": "4"},
        query="historyLength=5",
        policy="lastN",
        length="3",
        source="template",
        keep=3,
        outcomes={("length", "URL"): "not allowed", ("length", "template"): "won"},
    ),
}
LINKS = {
    "a link over the template": Case(
        query=LINK_ALL,
        policy="all",
        length="",
        source="URL",
        keep=TURNS,
        outcomes={("policy", "URL"): "won", ("policy", "template"): "overruled"},
    ),
    "a link's length over the template's": Case(
        query="?historyLength=2",
        policy="lastN",
        length="2",
        source="template, length: URL",
        keep=2,
        outcomes={("length", "URL"): "won", ("length", "template"): "overruled"},
    ),
    "a link's length of 0": Case(
        query="historyLength=0&historyLength=4",
        policy="lastN",
        length="0, acts as 1",
        source="template, length: URL",
        keep=1,
        outcomes={("length", "URL"): "won"},
    ),
    "a link's none": Case(
        query="historyPolicy=none", policy="none", length="", source="URL", keep=1
    ),
    "the template alone": Case(
        policy="lastN",
        length="3",
        source="template",
        keep=3,
        outcomes={("policy", "URL"): "absent", ("policy", "template"): "won"},
    ),
    "nothing set": Case(
        agent="plain",
        policy="lastN",
        length="20",
        source="built in",
        keep=TURNS,
        outcomes={
            ("policy", "environment"): "absent",
            ("policy", "template"): "absent",
            ("policy", "built in"): "won",
        },
    ),
    "prefilled turns under none": Case(
        agent="examples", policy="none", length="", source="template", keep=1
    ),
    "a bad link": Case(
        query="historyPolicy=ALL&historyLength=2.5",
        policy="lastN",
        length="3",
        source="template",
        keep=3,
        outcomes={
            ("policy", "URL"): "bad",
            ("length", "URL"): "bad",
            ("policy", "template"): "won",
        },
    ),
    "a bad template": Case(
        agent="bad",
        policy="lastN",
        length="20",
        source="built in",
        keep=TURNS,
        outcomes={("policy", "template"): "bad", ("length", "template"): "bad"},
    ),
    "a blank link": Case(
        query="historyPolicy=&historyLength=%20",
        policy="lastN",
        length="3",
        source="template",
        keep=3,
        outcomes={("policy", "URL"): "absent", ("length", "URL"): "absent"},
    ),
}


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_agents(tmp_path_factory.mktemp("agents"))


@pytest.fixture(scope="module")
def linked(
    fake: FakeOpenAI, agents: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server without history settings in its environment."""
    environment = provider_environment(fake, AGENTS_DIR=str(agents), DEBUG="true")
    with Server(tmp_path_factory.mktemp("linked"), **environment) as running:
        yield running
        running.kill()


def question(number: int) -> str:
    return f"question {number} [[text=answer {number}]]"


def expected_request(agent: str, *, keep: int, turns: int = TURNS) -> list[dict[str, str]]:
    """The head, then the last `keep` questions with their answers, without the tested code."""
    messages = [{"role": "system", "content": PERSONALITY.format(name=agent)}]
    if agent == "examples":
        messages += [{"role": "user", "content": "Two?"}, {"role": "assistant", "content": "2"}]
    for number in range(turns - keep + 1, turns + 1):
        messages.append({"role": "user", "content": question(number)})
        if number < turns:
            messages.append({"role": "assistant", "content": f"answer {number}"})
    return messages


async def talk(page: Page) -> dict[str, Any]:
    """Send all turns; return the receipt of the last."""
    ended: dict[str, Any] = {}
    for number in range(1, TURNS + 1):
        ended = await page.say(question(number))
        assert ended["state"] == "complete", ended
    receipt: dict[str, Any] = ended["receipt"]
    return receipt


def receipt_outcomes(receipt: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {
        (setting, claim["source"]): claim["outcome"]
        for setting, found in receipt["settings"].items()
        if setting != "conversation"
        for claim in found["said"]
    }


async def check(case: Case, server: Server, fake: FakeOpenAI) -> dict[str, Any]:
    async with Person(server.url) as ada:
        page = await ada.page(agent=case.agent, query=case.query)
        receipt = await talk(page)
        facts = receipt["facts"]
        assert (facts["policy"], facts["length"]) == (case.policy, case.length)
        assert facts["source"] == case.source
        assert receipt["locked"] is case.locked
        found = receipt_outcomes(receipt)
        assert {place: found.get(place, "absent") for place in case.outcomes} == case.outcomes
        assert fake.requests[-1]["messages"] == expected_request(case.agent, keep=case.keep)
        assert facts["stored"] == 2 * TURNS - 1
        assert facts["sent"] == 2 * case.keep - 1
        preview = await page.preview("What next?")
        assert preview["decision"]["settings"] == receipt["settings"]
        assert (await ada.page(page.conversation)).snapshot["receipt"] == receipt
        return receipt


@pytest.mark.parametrize("name", LINKS)
async def test_the_model_gets_what_a_link_or_a_template_sets(
    name: str, linked: Server, fake: FakeOpenAI
) -> None:
    receipt = await check(LINKS[name], linked, fake)
    settings = receipt["settings"]
    for setting in (*settings.values(), *settings["conversation"].values()):
        for claim in setting.get("said", ()):
            assert claim["outcome"] not in ("bad", "not allowed", "overruled") or claim["why"]


# Each starts a server of its own; `test_resolve` shows the same of the pure function.
SHOWN = ("the environment over a link", "only the length set", "links switched off")


@pytest.mark.parametrize(
    "name",
    [
        *SHOWN,
        *(pytest.param(one, marks=pytest.mark.thorough) for one in ENVIRONMENT if one not in SHOWN),
    ],
)
async def test_the_model_gets_what_the_environment_sets(
    name: str, agents: Path, fake: FakeOpenAI, folder: Path
) -> None:
    case = ENVIRONMENT[name]
    environment = provider_environment(
        fake, AGENTS_DIR=str(agents), DEBUG="true", **case.environment
    )
    if case.locked:
        environment["HISTORY_REASON"] = "Answers cost money."
    with Server(folder, **environment) as server:
        receipt = await check(case, server, fake)
        assert receipt["lock_reason"] == ("Answers cost money." if case.locked else "")
        log = server.log
    assert f'[History] Agent demo history settings: {{policy: "{case.policy}", length: ' in log
    if case.keep < TURNS:
        assert f"[History] Trimmed messages from 9 to {2 * case.keep - 1}" in log
    assert "question" not in log and "Traceback" not in log


@pytest.mark.slow
async def test_only_staff_may_choose_in_a_link_where_the_server_says_so(
    agents: Path, fake: FakeOpenAI, folder: Path
) -> None:
    environment = provider_environment(
        fake, AGENTS_DIR=str(agents), DEBUG="true", HISTORY_URL="staff"
    )
    with Server(folder, **environment) as server:
        server.add_user("grace", "compilers-1952")
        guest = Case(
            query=LINK_ALL,
            policy="lastN",
            length="3",
            source="template",
            keep=3,
            outcomes={("policy", "URL"): "not allowed"},
        )
        await check(guest, server, fake)
        async with Person(server.url) as grace:
            await grace.sign_in("grace", "compilers-1952")
            receipt = await talk(await grace.page(query=LINK_ALL))
            assert (receipt["facts"]["policy"], receipt["facts"]["source"]) == ("all", "URL")
            assert fake.requests[-1]["messages"] == expected_request("demo", keep=TURNS)


@pytest.mark.slow
async def test_a_token_budget_bounds_every_policy(
    agents: Path, fake: FakeOpenAI, folder: Path
) -> None:
    environment = provider_environment(
        fake, AGENTS_DIR=str(agents), DEBUG="true", HISTORY_TOKENS="90"
    )
    with Server(folder, HISTORY_POLICY="all", **environment) as server:
        async with Person(server.url) as ada:
            page = await ada.page()
            receipt = await talk(page)
            assert receipt["locked"] and receipt["budget"] == 90
            assert receipt["settings"]["tokens"]["source"] == "environment"
            assert receipt["prompt_tokens"] <= 90
            sent = fake.requests[-1]["messages"]
            keep = sum(message["role"] == "user" for message in sent)
            assert 1 <= keep < TURNS
            assert sent == expected_request("demo", keep=keep)
            cut = ("over_budget", "above_cut")
            left = [v for v in receipt["verdicts"] if v["reason"] in cut]
            assert sum(v["messages"] for v in left) == 2 * (TURNS - keep)


async def test_a_link_holds_for_turns_sent_from_that_page_alone(
    linked: Server, fake: FakeOpenAI
) -> None:
    async with Person(linked.url) as ada:
        narrow = await ada.page(query="historyLength=1")
        await talk(narrow)
        wide = await ada.page(narrow.conversation, query=LINK_ALL)
        ended = await wide.say("question 6 [[text=answer 6]]")
        assert ended["receipt"]["facts"]["policy"] == "all"
        assert fake.requests[-1]["messages"] == expected_request("demo", keep=6, turns=6)
        assert (await wide.preview())["decision"]["facts"]["policy"] == "all"
        assert (await narrow.preview())["decision"]["facts"]["length"] == "1"


async def test_what_is_sent_changes_nothing_that_is_stored(linked: Server) -> None:
    async with Person(linked.url) as ada:
        page = await ada.page(query="historyPolicy=none")
        await talk(page)
        again = await ada.page(page.conversation, query=LINK_ALL)
        stored = [message["content"] for message in again.snapshot["messages"]]
        assert len(stored) == 2 * TURNS
        assert stored[0] == question(1)


async def test_a_huge_link_is_refused_with_a_reason_and_the_page_goes_on(linked: Server) -> None:
    async with Person(linked.url) as ada:
        page = await ada.page()
        page.query = "historyPolicy=" + "x" * 5000
        await page.send("Hello")
        refused = await page.until("refused")
        assert refused["code"] == "bad_command" and "query" in refused["message"]
        page.query = "historyPolicy=" + "x" * 4000 + "%00"
        ended = await page.say("Hello")
        assert ended["state"] == "complete"
        claims = ended["receipt"]["settings"]["policy"]["said"]
        raw = next(one["raw"] for one in claims if one["source"] == "URL")
        assert len(raw) < 300
