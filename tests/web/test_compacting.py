"""Compacting over HTTP: a plan, apply, undo and apply again; and how wrong requests are refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.person import Page, Person
from tests.running import Server
from tests.web.browser_requests import ask_from_page

WORDS = "Please note the survey of {} at Larsen Quay: berth {}, 4,200 kg. It was long."


async def talk(ada: Person, exchanges: int = 5) -> Page:
    page = await ada.page()
    for number in range(exchanges):
        await page.say(WORDS.format(f"2026-03-0{number + 1}", f"B-10{number}"))
    return page


async def compact(ada: Person, page: Page, **more: Any) -> Any:
    path = f"/conversations/{page.conversation}/compact"
    plan = await ada.ask("POST", f"{path}/plan", {})
    wanted = {"text": plan["draft"], "version": plan["version"], "state": plan["state"]}
    return await ada.ask("POST", path, wanted | more)


async def test_the_plan_lists_what_folds_with_figures_and_a_draft_without_a_model(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        page = await talk(ada)
        path = f"/conversations/{page.conversation}/compact/plan"
        plan = await ada.ask("POST", path, {"keep": "berths"})
        turns = plan["turns"]
        assert [turn["folds"] for turn in turns] == [True, True, True, False, False]
        assert [turn["stays"] for turn in turns] == ["", "", "", "", "newest"]
        assert "2026-03-01" in turns[0]["text"] and turns[0]["tokens"] > 0
        assert "2026-03-01" in plan["draft"] and "2026-03-04" not in plan["draft"]
        assert plan["freed"] > 0 and plan["tokens"] > plan["freed"] and plan["earlier"] == 0
        assert (plan["by"], plan["parts"], plan["cost"], plan["version"]) == ("", 0, None, 0)
        out = await ada.ask("POST", path, {"without": [turns[1]["seq"]], "to": turns[3]["seq"]})
        assert [turn["folds"] for turn in out["turns"]] == [True, False, True, True, False]
        assert out["turns"][1]["stays"] == "taken out" and "2026-03-02" not in out["draft"]


async def test_a_compaction_is_undone_and_applied_again_and_pages_are_told(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await talk(ada)
        before = (await page.preview())["decision"]
        done = await compact(ada, page, by="")
        (version,) = done["versions"]
        assert (done["current"], version["compaction"], version["undone"]) == (1, 1, False)
        assert version["by"] == "you" and version["exchanges"] == 3
        event = await page.until("summary_changed")
        assert (event["summary"]["compaction"], event["summary"]["undone"]) == (1, 0)
        after = (await page.preview())["decision"]
        assert after["prompt_tokens"] < before["prompt_tokens"]
        assert after["reports"]["summary"]["compaction"] == 1
        compared = await ada.ask("POST", f"/conversations/{page.conversation}/compare", {})
        rows = {row["key"]: row["outcome"]["tokens"] for row in compared["rows"] if row["outcome"]}
        assert rows["tokens"] == rows["all"] == after["prompt_tokens"] > rows["none"]
        path = f"/conversations/{page.conversation}/compact"
        undone = await ada.ask("POST", f"{path}/undo", {"version": 1})
        assert (undone["current"], undone["versions"][0]["undone"]) == (0, True)
        assert (await page.preview())["decision"]["layout"] == before["layout"]
        again = await ada.page(page.conversation)
        assert (again.snapshot["summary"]["undone"], again.snapshot["summary"]["version"]) == (1, 0)
        assert (await ada.ask("POST", f"{path}/again", {"version": 1}))["current"] == 1
        assert (await page.preview())["decision"]["layout"] == after["layout"]


async def test_what_changed_since_the_plan_is_refused_and_nothing_is_stored(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await talk(ada)
        path = f"/conversations/{page.conversation}/compact"
        plan = await ada.ask("POST", f"{path}/plan", {})
        first = (await ada.ask("GET", f"/conversations/{page.conversation}/messages?before=99"))[
            "messages"
        ]
        wanted = {"text": "They talked.", "version": plan["version"], "state": plan["state"]}
        await ada.ask("POST", path, wanted | {"version": 7}, expect=409)
        await ada.leave_out(first[1:2])
        refused = await ada.ask("POST", path, wanted, expect=409)
        assert refused["code"] == "changed" and "was changed since" in refused["message"]
        found = await ada.ask("GET", f"/conversations/{page.conversation}/summary")
        assert found["versions"] == []


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/plan", '{"without": 7}', "without is a list"),
        ("/plan", '{"without": [true]}', "without is a list"),
        ("/plan", '{"to": "1"}', "to is a message's number"),
        ("/plan", '{"keep": 7}', "keep is a text"),
        ("/draft", '{"part": -1}', "part is a whole number"),
        ("", '{"text": " ", "version": 0}', "needs some words"),
        ("", '{"text": "x"}', "version is a whole number"),
        ("/undo", "{}", "version is a whole number"),
    ],
)
async def test_a_wrong_request_is_refused_with_the_reason(
    path: str, body: str, expected: str, server: Server
) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("Hello")
        address = f"/conversations/{page.conversation}/compact{path}"
        answer = await ask_from_page(ada, "POST", address, data=body, type="application/json")
        assert answer.status == 400 and expected in answer.json["message"]


async def test_there_is_nothing_to_fold_in_a_short_chat_or_with_the_summary_switched_off(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        page = await talk(ada, 2)
        path = f"/conversations/{page.conversation}"
        refused = await ada.ask("POST", f"{path}/compact/plan", {}, expect=409)
        assert refused["code"] == "nothing_to_fold"
        await ada.ask("POST", f"{path}/summary/switch", {"on": False})
        refused = await ada.ask("POST", f"{path}/compact/plan", {}, expect=409)
        assert refused["code"] == "summary_off"
