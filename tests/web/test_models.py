"""The models that the running server tells the page to offer."""

from __future__ import annotations

from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import ask


async def test_the_page_gets_the_models_that_answer_and_those_without_a_key(server: Server) -> None:
    async with Person(server.url) as ada:
        found = (await ask(ada, "GET", "/models?agent=demo")).json
        assert (found["own"].partition(":")[0], found["locked"], found["looking"]) == (
            "echo",
            "",
            False,
        )
        (own,) = found["groups"]
        assert [(each["name"], each["why_not"]) for each in own["models"]] == [
            (found["own"], ""),
            ("openai:gpt-6-luna", "OpenAI needs an API key (OPENAI_API_KEY)."),
            ("anthropic:claude-haiku-5-5", "Anthropic needs an API key (ANTHROPIC_API_KEY)."),
        ]
        for agent in ("nobody", "", "../etc", "%00"):
            assert (await ask(ada, "GET", f"/models?agent={agent}")).status in (400, 404)
        assert (await ask(ada, "POST", "/models?agent=demo")).status in (403, 405)
