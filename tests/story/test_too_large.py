from __future__ import annotations

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Person
from tests.running import Server


async def test_a_message_that_can_not_fit_is_refused_and_blocks_no_later_message(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("My dog is called Rex.")
        requests_before = len(fake.requests)
        page.query = "historyTokens=200"
        await page.send("word " * 3000)
        refused = await page.until("refused")
        assert refused["code"] == "prompt_too_large"
        assert "3," in refused["message"]
        assert len(fake.requests) == requests_before
        page.query = ""
        await page.say("What is my dog called?")
        texts = [message["content"] for message in fake.requests[-1]["messages"]]
        assert "My dog is called Rex." in texts
        assert not any("word word" in text for text in texts)
        assert (
            (await ada.page(page.conversation))
            .snapshot["messages"][-2]["content"]
            .startswith("What is my dog")
        )


async def test_the_first_preview_equals_the_receipt_of_the_first_answer(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        preview = (await page.preview("Good morning"))["decision"]
        ended = await page.say("Good morning")
        for key in ("verdicts", "parts", "horizon", "prompt_tokens"):
            assert ended["receipt"][key] == preview[key], key
        # The greeting and the message are stored by now.
        draft = {"stored": 0, "sent": 0, "draft": "written"}
        assert preview["facts"] == ended["receipt"]["facts"] | draft


async def test_the_tokens_of_a_restored_conversation_are_estimated_before_it_is_sent(
    server: Server,
) -> None:
    messages = [
        {"role": role, "content": f"{role} {number}"}
        for number in range(30)
        for role in ("user", "assistant")
    ]
    saved = {
        "format": "chatsite.conversation",
        "version": 1,
        "agent": "demo",
        "title": "Long ago",
        "messages": messages,
    }
    async with Person(server.url) as ada:
        restored = await ada.ask("POST", "/conversations/import", saved)
        page = await ada.page(restored["conversation"]["id"], query="historyLength=2")
        decision = (await page.preview("And now?"))["decision"]
        left_out = [one for one in decision["verdicts"] if not one["sent"]]
        assert [one["messages"] for one in left_out] == [58]
        assert left_out[0]["tokens"] > 58 and left_out[0]["basis"] == "estimated"
