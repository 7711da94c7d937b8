from __future__ import annotations

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Person
from tests.running import Server


async def test_a_guest_sends_a_message_and_the_answer_is_stored_with_its_receipt(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        ended = await page.say("Hello there [[text=Good morning, Ada.]]")
        assert ended["state"] == "complete"
        assert ended["message"]["content"] == "Good morning, Ada."
        receipt = await ada.ask("GET", f"/turns/{ended['turn']}/receipt")
        assert receipt == ended["receipt"]
        assert receipt["facts"]["policy"] == "lastN"
        assert receipt["facts"]["source"] == "template"
        assert receipt["reported"]["first_token_ms"] >= 0
        messages = fake.requests[-1]["messages"]
        assert [message["role"] for message in messages] == ["system", "user"]
        assert sum(verdict["sent"] for verdict in receipt["verdicts"]) == 2


async def test_a_fresh_snapshot_equals_the_messages_of_the_events(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        ended = await page.say("What is a receipt?")
        started = next(event for event in page.events if event["type"] == "turn_started")
        again = await ada.page(page.conversation)
        assert again.snapshot["messages"] == [*started["messages"], ended["message"]]
        assert again.snapshot["receipt"] == ended["receipt"]
        assert again.snapshot["turn"] is None
