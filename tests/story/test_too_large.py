from __future__ import annotations

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Person
from tests.running import Server


async def test_a_message_that_can_not_fit_is_refused_and_stands_in_nobodys_way(
    server: Server, fake: FakeOpenAI
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("My dog is called Rex.")
        asked = len(fake.requests)
        page.query = "historyTokens=200"
        await page.send("word " * 3000)
        refused = await page.until("refused")
        assert refused["code"] == "prompt_too_large"
        assert "3," in refused["message"]
        assert len(fake.requests) == asked
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


async def test_the_first_preview_says_what_the_first_answer_will(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        preview = (await page.preview("Good morning"))["decision"]
        ended = await page.say("Good morning")
        for key in ("facts", "verdicts", "parts", "horizon", "prompt_tokens"):
            assert ended["receipt"][key] == preview[key], key


async def test_a_restored_conversation_counts_before_it_was_ever_sent(server: Server) -> None:
    said = [
        {"role": role, "content": f"{role} {number}"}
        for number in range(30)
        for role in ("user", "assistant")
    ]
    saved = {
        "format": "chatsite.conversation",
        "version": 1,
        "agent": "demo",
        "title": "Long ago",
        "messages": said,
    }
    async with Person(server.url) as ada:
        restored = await ada.ask("POST", "/conversations/import", saved)
        page = await ada.page(restored["conversation"]["id"], query="historyLength=2")
        decision = (await page.preview("And now?"))["decision"]
        left_out = [one for one in decision["verdicts"] if not one["sent"]]
        assert [one["messages"] for one in left_out] == [58]
        assert left_out[0]["tokens"] > 58 and left_out[0]["basis"] == "estimated"
