"""A receipt proves what was sent: the request is rebuilt from it and the stored messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import attach_file

TEXTS = [
    "The cat is called Tabitha and sleeps on the piano [[text=A fine name for a cat.]]",
    "Tell me of rain, at length [[tokens=150]]",
    "And of snow [[tokens=150]]",
    "And of fog [[tokens=150]]",
    "What was the cat called? [[text=Tabitha.]]",
]


async def receipts_of_conversation(server: Server, query: str) -> list[dict[str, Any]]:
    """Have a conversation under these settings; return its receipts."""
    async with Person(server.url) as ada:
        page = await ada.page(query=query)
        ended = [await page.say(text) for text in TEXTS]
        return [await ada.ask("GET", f"/turns/{one['turn']}/receipt") for one in ended]


async def test_the_request_of_a_receipt_is_byte_for_byte_what_the_provider_got(
    server: Server, fake: FakeOpenAI, tmp_path: Path
) -> None:
    receipts = await receipts_of_conversation(server, "historyPolicy=relevant&historyTokens=600")
    sent = fake.requests[-1]
    assert "recalled" in {item.get("kind") for item in receipts[-1]["layout"]}
    file, out = tmp_path / "receipt.json", tmp_path / "request.json"
    file.write_text(json.dumps(receipts[-1]))
    output = server.develop("replay_receipt", str(file), "--out", str(out))
    again = json.loads(out.read_text())
    said = again["messages"]
    told = f"Byte for byte the texts of the request that was sent: {len(said)} messages. Neighbours"
    assert f"{told} of one role went as one message" in output
    # Named one by one; in the request neighbours of one role are one message.
    *first, quote, asked = [message["content"] for message in said]
    joined = f"{quote}\n\n---\n\n{asked}"
    assert [message["content"] for message in sent["messages"]] == [*first, joined]
    assert again["model"] == sent["model"]
    # The model's limit includes its reasoning.
    assert again["max_tokens"] < sent["max_completion_tokens"]
    changed = receipts[-1]["head"] | {"hash": "0" * 64}
    file.write_text(json.dumps(receipts[-1] | {"head": changed}))
    with pytest.raises(AssertionError, match="not byte for byte .*\n- The agent was changed since"):
        server.develop("replay_receipt", str(file), "--out", str(out))


async def test_the_rebuilt_request_contains_the_text_of_a_file(
    server: Server, fake: FakeOpenAI, tmp_path: Path
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        file = await attach_file(ada, b"Dredge the harbour.", name="plan.txt")
        ended = await page.say("What is planned?", attachments=[file["id"]])
        receipt = await ada.ask("GET", f"/turns/{ended['turn']}/receipt")
    saved, out = tmp_path / "receipt.json", tmp_path / "request.json"
    saved.write_text(json.dumps(receipt))
    assert "Neighbours" not in server.develop("replay_receipt", str(saved), "--out", str(out))
    again = json.loads(out.read_text())["messages"]
    assert "Dredge the harbour." in again[-1]["content"]
    assert json.dumps(again) == json.dumps(fake.requests[-1]["messages"])


async def test_stored_conversations_are_replayed_under_every_policy(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page(agent="archivist")
        ended = [await page.say(text) for text in TEXTS]
    requests_before = len(fake.requests)
    output = server.develop("simulate_history", "--conversation", page.conversation, "--json")
    # On a busy machine the log may say something first.
    found = json.JSONDecoder().raw_decode(output[f"\n{output}".index("\n{") :])[0]
    assert len(fake.requests) == requests_before
    policies = found["policies"]
    assert found["conversations"] == 1
    assert set(policies) == {
        "as set", "none", "lastN 5", "lastN 20", "all", "tokens", "relevant",
    }  # fmt: skip
    assert {one["turns"] for one in policies.values()} == {len(TEXTS)}
    assert policies["as set"] == policies["all"]
    receipts = [one["receipt"] for one in ended]
    assert policies["all"]["tokens"] == sum(one["prompt_tokens"] for one in receipts)
    assert policies["none"]["messages"] == len(TEXTS)
    assert policies["all"]["cost"] > policies["none"]["cost"] > 0
    table = server.develop("simulate_history", "--policy", "lastN", "--length", "2", "--limit", "1")
    assert table.splitlines()[1].startswith("as set")
    assert table.splitlines()[2].startswith("lastN 2")
    assert "estimated from list prices" in table
