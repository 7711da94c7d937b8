"""Agents that people make: who finds them, their versions, and what they may say."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.own_agents.conftest import STAFF
from tests.person import Page, Person
from tests.running import Server
from tests.web.browser_requests import ask

GERMAN = {"name": "Kurz", "personality": "Answer briefly, in German.", "mark": "🦊"}
FAKE = "openai:fake-model"
MISSING = "There is no agent of that name here."


async def make(person: Person, template: dict[str, Any], **more: Any) -> str:
    found = await person.ask("POST", "/agents", {"template": template, **more})
    slug: str = found["slug"]
    return slug


def system_of(fake: FakeOpenAI) -> str:
    """The instructions of the last request."""
    first = fake.requests[-1]["messages"][0]
    assert first["role"] == "system"
    text: str = first["content"]
    return text


async def refusal(page: Page, type: str, **fields: Any) -> str:
    await page.command(type, **fields)
    while (event := await page.event())["type"] != "refused":
        pass
    message: str = event["message"]
    return message


async def test_an_own_agent_answers_with_its_instructions(server: Server, fake: FakeOpenAI) -> None:
    async with Person(server.url) as ada:
        slug = await make(ada, GERMAN)
        (mine,) = [one for one in (await ada.page_data())["agents"] if one["slug"] == slug]
        assert (mine["name"], mine["mark"], mine["own"]) == (
            "Kurz",
            "🦊",
            {"mine": True, "shared": False},
        )
        page = await ada.page(agent=slug)
        await page.say("Ahoy.")
        assert system_of(fake) == "Answer briefly, in German."
        # The models are those of the first agent of the folder.
        assert page.snapshot["agent"]["provider"]["kind"] == "openai"
        changed = GERMAN | {"personality": "Answer in Plattdeutsch."}
        await ada.ask("PUT", f"/agents/{slug}", {"template": changed})
        await page.say("And now?")
        assert system_of(fake) == "Answer in Plattdeutsch."


async def test_somebody_elses_agent_reads_like_a_missing_one_everywhere(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        slug = await make(ada, GERMAN)
        others = (slug, "own-000000000000")
        for other in others:
            data = await bob.page_data(f"/chat?agent={other}")
            assert data["unknown_agent"] and data["agent"] == "demo"
            assert other not in [one["slug"] for one in data["agents"]]
        refused: dict[str, list[Any]] = {other: [] for other in others}
        for other in others:
            page = await bob.page()
            fields = {"agent": other, "client_id": page.conversation, "text": "Ahoy."}
            refused[other] += [
                await refusal(page, "send", **fields),
                await refusal(page, "open", agent=other),
            ]
            await page.command("preview", agent=other, draft="Ahoy.")
            refused[other].append((await page.until("preview"))["problem"])
            for method, path, body in (
                ("GET", f"/models?agent={other}", None),
                ("GET", f"/agents/form?agent={other}", None),
                ("PUT", f"/agents/{other}", {"template": GERMAN}),
                ("DELETE", f"/agents/{other}", None),
                ("POST", f"/agents/{other}/restore", None),
                ("POST", f"/agents/{other}/version", {"number": 1}),
            ):
                refused[other].append(await bob.ask(method, path, body, expect=404))
        assert refused[slug] == refused["own-000000000000"]
        assert refused[slug][0] == MISSING


async def test_staff_share_an_agent_and_alone_change_it(server: Server) -> None:
    async with Person(server.url) as grace, Person(server.url) as bob:
        await grace.sign_in(*STAFF)
        await bob.ask("POST", "/agents", {"template": GERMAN, "shared": True}, expect=409)
        slug = await make(grace, GERMAN, shared=True)
        (shown,) = [one for one in (await bob.page_data())["agents"] if one["slug"] == slug]
        assert shown["own"] == {"mine": False, "shared": True}
        page = await bob.page(agent=slug)
        await page.say("Ahoy.")
        await bob.ask("PUT", f"/agents/{slug}", {"template": GERMAN}, expect=404)
        await grace.ask("PUT", f"/agents/{slug}", {"template": GERMAN, "shared": False})
        # What was said stays readable, and says that nobody answers there any more.
        again = await bob.page(page.conversation, agent=slug)
        assert [one["content"] for one in again.snapshot["messages"]][0] == "Ahoy."
        gone = again.snapshot["agent"]
        assert gone["name"] == "Removed agent"
        assert gone["broken"]["reason"] == "There is no such agent any more."
        fields = {"agent": slug, "client_id": page.conversation, "text": "Still there?"}
        assert await refusal(again, "send", **fields) == MISSING
        assert (
            "Removed agent"
            in (
                await ask(bob, "GET", f"/conversations/{page.conversation}/export?format=text")
            ).text
        )


async def test_every_save_is_a_version_and_an_older_one_can_be_used_again(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        slug = await make(ada, GERMAN)
        for number in range(2, 53):
            template = GERMAN | {"personality": f"Version {number}."}
            await ada.ask("PUT", f"/agents/{slug}", {"template": template})
        await ada.ask("PUT", f"/agents/{slug}", {"template": template})  # it is the same one
        form = await ada.ask("GET", f"/agents/form?agent={slug}")
        assert [one["number"] for one in form["versions"]] == list(range(52, 2, -1))
        await ada.ask("POST", f"/agents/{slug}/version", {"number": 2}, expect=404)
        await ada.ask("POST", f"/agents/{slug}/version", {"number": 3})
        form = await ada.ask("GET", f"/agents/form?agent={slug}")
        assert form["versions"][0]["number"] == 53
        assert form["template"]["personality"] == "Version 3."
        page = await ada.page(agent=slug)
        await page.say("Ahoy.")
        assert system_of(fake) == "Version 3."


async def test_a_deleted_agent_comes_back(server: Server) -> None:
    async with Person(server.url) as ada:
        slug = await make(ada, GERMAN)
        found = await ada.ask("DELETE", f"/agents/{slug}")
        assert slug not in [one["slug"] for one in found["agents"]]
        await ada.ask("PUT", f"/agents/{slug}", {"template": GERMAN}, expect=404)
        found = await ada.ask("POST", f"/agents/{slug}/restore")
        assert slug in [one["slug"] for one in found["agents"]]


@pytest.mark.parametrize(
    ("template", "place"),
    [
        ([], ""),
        ({"personality": "x"}, "name"),
        ({"name": " ", "personality": "x"}, "name"),
        ({"name": "N" * 81, "personality": "x"}, "name"),
        ({"name": "N", "personality": 3}, "personality"),
        ({"name": "N", "personality": "x" * 20_001}, "personality"),
        ({"name": "N", "personality": "x", "mark": "m" * 17}, "mark"),
        (GERMAN | {"chatSettings": {"chatPrompts": ["one", 2]}}, "chatSettings.chatPrompts.1"),
        (GERMAN | {"nodeConfigurations": {"llm.openai": {"temperature": 3}}}, "nodeConfigurations"),
    ],
)
async def test_what_is_wrong_in_a_template_is_said_with_its_place(
    template: object, place: str, server: Server
) -> None:
    async with Person(server.url) as ada:
        for path in ("/agents", "/agents/check"):
            wrong = await ada.ask("POST", path, {"template": template}, expect=400)
            assert wrong["place"].startswith(place) and wrong["message"], wrong


async def test_a_template_brings_no_keys_and_no_tools_of_the_server(server: Server) -> None:
    given = GERMAN | {
        "nodes": ["llm.openai", "calculator", "mcp.files", "googleSearch"],
        "nodeConfigurations": {
            "llm.openai": {"apiKey": "sk-secret", "useTrainedPersonality": True, "topK": 3},
            "clock": {"zone": "Europe/Paris"},
        },
        "orchestration": {"steps": 3},
    }
    async with Person(server.url) as ada:
        read = await ada.ask("POST", "/agents/check", {"template": given})
    kept = read["template"]
    assert kept["nodes"] == ["llm.openai", "calculator"]
    assert kept["nodeConfigurations"] == {"llm.openai": {"topK": 3}}
    assert len(read["unused"]) == 3
    assert "mcp.files, googleSearch" in read["unused"][0]


async def test_a_model_that_isnt_offered_doesnt_answer(server: Server, fake: FakeOpenAI) -> None:
    dear = {"nodes": ["llm.openai"], "nodeConfigurations": {"llm.openai": {"model": "dear-model"}}}
    fine = {"nodes": ["llm.openai"], "nodeConfigurations": {"llm.openai": {"model": "fake-model"}}}
    async with Person(server.url) as ada:
        page = await ada.page(agent=await make(ada, GERMAN | fine))
        await page.say("Ahoy.")
        assert fake.requests[-1]["model"] == "fake-model"
        page = await ada.page(agent=await make(ada, GERMAN | dear))
        assert "dear-model" in page.snapshot["agent"]["provider"]["note"]
        await page.say("Ahoy.")
        assert fake.requests[-1]["model"] != "dear-model"


async def test_a_guests_agents_and_instructions_become_the_accounts(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        slug = await make(ada, GERMAN)
        await ada.ask("PUT", "/instructions", {"text": "Be kind.", "on": True})
        await ada.sign_in("ada", "engines-1843")
        page = await ada.page(agent=slug)
        await page.say("Ahoy.")
        assert system_of(fake).endswith("Be kind.")
        export = await ask(ada, "GET", "/accounts/export/")
        assert export.status == 200


async def test_own_instructions_follow_every_agents_and_have_a_part_of_the_receipt(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        page = await ada.page()
        plain = (await page.say("Ahoy."))["receipt"]
        assert (await ada.ask("GET", "/instructions"))["text"] == ""
        await ada.ask("PUT", "/instructions", {"text": "Call me Captain.", "on": True})
        told = (await page.say("Who am I?"))["receipt"]
        assert system_of(fake).endswith("asks this of every assistant:\n\nCall me Captain.")
        assert system_of(fake).startswith("You are Memo")
        parts = {part["name"]: part["tokens"] for part in told["parts"]}
        assert parts["own"] > 4 and "own" not in [part["name"] for part in plain["parts"]]
        assert told["head"]["hash"] != plain["head"]["hash"]
        assert sum(parts.values()) == told["window"]
        await (await bob.page()).say("Who am I?")
        assert "Captain" not in system_of(fake)
        await ada.ask("PUT", "/instructions", {"text": "Call me Captain.", "on": False})
        off = (await page.say("And now?"))["receipt"]
        assert "Captain" not in system_of(fake)
        assert off["head"]["hash"] == plain["head"]["hash"]
        long = {"text": "x" * 4_001, "on": True}
        await ada.ask("PUT", "/instructions", long, expect=400)


@pytest.mark.sqlite
async def test_changed_instructions_take_along_what_the_engine_saved_of_them(
    server: Server,
) -> None:
    """A saved head is nobody's; a chat is its owner's."""
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("Ahoy.")
        chat = UUID(page.conversation).hex
        spans = {"with": "own-instructions", "without": "personality"}
        rows: list[tuple[str, str | None, str]] = [
            *((f"head:{name}", None, part) for name, part in spans.items()),
            ("chat", chat, "own-instructions"),
            ("other", None, "u1"),
        ]
        (folder := server.folder / "kv").mkdir(exist_ok=True)
        with closing(sqlite3.connect(server.folder / "chatsite.sqlite3", timeout=20)) as database:
            for key, conversation, part in rows:
                file = f"{uuid4().hex}.bin"
                (folder / file).write_text(key)
                database.execute(
                    "INSERT INTO conversations_kvsession (key, conversation_id, fingerprint, ids, "
                    "spans, file, size, digest, used, created) VALUES (?, ?, 'f', ?, ?, ?, 4, 'd', "
                    "'2026-01-01', '2026-01-01')",
                    (key, conversation, b"\0\0\0\0", json.dumps([[part, 1]]), file),
                )
            database.commit()
            await ada.ask("PUT", "/instructions", {"text": "Call me Captain.", "on": True})
            left = database.execute("SELECT key, file FROM conversations_kvsession").fetchall()
        assert {key for key, _ in left} == {"head:without", "other"}
        assert {path.name for path in folder.glob("*.bin")} == {file for _, file in left}


async def test_temperature_and_length_are_kept_with_the_chat(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        ended = await page.say("Ahoy.", model=FAKE, tuning={"temperature": 1.5, "max_tokens": 64})
        assert ended["receipt"]["asked"]["max_tokens"] == 64
        assert ended["receipt"]["asked"]["temperature"] == 1.5
        again = await ada.page(page.conversation)
        assert again.snapshot["conversation"]["tuning"] == {"temperature": 1.5, "max_tokens": 64}
        # A page that says nothing of it changes nothing.
        ended = await again.say("And now?", model=FAKE)
        assert fake.requests[-1]["temperature"] == 1.5
        ended = await again.say("And now?", model=FAKE, tuning={"temperature": 0})
        assert (fake.requests[-1]["temperature"], ended["receipt"]["asked"]["max_tokens"]) == (
            0,
            2048,
        )
        ended = await again.say("As the agent has it.", model=FAKE, tuning={})
        assert fake.requests[-1]["temperature"] == 0.5
        ended = await again.say("At length.", model=FAKE, tuning={"max_tokens": 1_000_000})
        assert ended["receipt"]["asked"]["max_tokens"] < 1_000_000
        assert any("1,000,000" in one for one in ended["receipt"]["dropped"])
        for wrong in ({"temperature": 2.1}, {"max_tokens": 15}, {"top_p": 1}):
            said = await refusal(again, "preview", agent="demo", draft="", tuning=wrong)
            assert "isn't understood" in said
