"""`apply`, the page's function for events: it handles all, and gives a fresh snapshot's state."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

import pytest
from playwright.sync_api import expect

from chatsite.events import (
    CacheChanged,
    CallEnded,
    Calling,
    CallsStarted,
    Delta,
    Event,
    Reading,
    Reply,
    TurnEnded,
    TurnStarted,
    Waiting,
)
from chatsite.messages import Message, ToolCall
from chatsite.views import MessageView, Problem, TurnView
from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit
from tests.browser.scripted_page import CONVERSATION, ScriptedPage, snapshot, view
from tests.running import ROOT

MARKDOWN = "# Title\n\nA [link](https://example.org) and `code`:\n\n1. one\n2. two\n\n```js\n1\n```"


def test_apply_has_a_case_for_every_event_and_for_nothing_else() -> None:
    source = (ROOT / "static" / "chat" / "state" / "apply.js").read_text()
    cases = re.findall(r'^\s*case "(\w+)":', source, flags=re.MULTILINE)
    assert sorted(cases) == sorted(kind.type for kind in (*get_args(Event), *get_args(Reply)))


@pytest.mark.browser
def test_a_snapshot_and_the_events_after_it_show_what_a_fresh_one_shows(chat: Chat) -> None:
    chat.turns("One 👍🏽 𝔘𝔫𝔦 [[text=Two 👩‍👩‍👧 and 漢字.]]", answer(MARKDOWN))
    chat.write("It fails. [[mode=cut;at=7]]")
    expect(chat.endings).to_have_count(1)  # told once, under what was written
    chat.begin("It is stopped. [[tokens=500;rate=50]]", shows="w9")
    chat.draft.press("Escape")
    expect(chat.endings).to_have_count(2)
    chat.menu("One").get_by_role("button", name="Rename").click()
    chat.page.get_by_label("New name").fill("Renamed")
    chat.page.get_by_label("New name").press("Enter")
    expect(chat.page).to_have_title("Renamed · Chatsite")
    fresh = chat.tab()
    expect(fresh.users).to_have_count(4)
    assert fresh.transcript() == chat.transcript()
    assert fresh.page.title() == chat.page.title()
    assert fresh.chip.inner_text() == chat.chip.inner_text()
    expect(chat.meter.locator(".meter-words")).to_have_text(
        fresh.meter.locator(".meter-words").inner_text()
    )
    words = "#col article.m .body"
    assert chat.page.locator(words).evaluate_all(HTML) == fresh.page.locator(words).evaluate_all(
        HTML
    )
    chat.menu("Renamed").get_by_role("button", name="Clear").click()
    chat.page.get_by_role("dialog").get_by_role("button", name="Clear").click()
    for tab in (chat, fresh):
        expect(tab.users).to_have_count(0)


HTML = "(all) => all.map((one) => one.innerHTML)"

# A turn with two calls at once, the second of which fails.
QUESTION = view(Message.user("What do 92 metres cost, and how is the weather?", id="u"), 1)
CALLS = (
    ToolCall(id="k1", name="calculator", arguments={"expression": "184000 / 92"}),
    ToolCall(id="k2", name="weather", arguments={"city": "Malo", "days": 2}),
)
CALLING = view(
    Message.assistant("Let me see 👍🏽.", id="a1", calls=CALLS, reasoning="First 𝔘 the price."), 2
)
NEVER = '{"error": {"name": "NoResult", "message": "It never ran."}}'
FAILED = '{"error": {"name": "ToolError", "message": "No connection."}}'
RESULTS = (
    view(Message.tool("2000", id="r1", call_id="k1"), 3),
    view(Message.tool(FAILED, id="r2", call_id="k2"), 4),
)
RUNNING = tuple(
    replace(one, state="running", message=replace(one.message, content=NEVER)) for one in RESULTS
)
CUT = Problem(code="server_cut", message="The server cut the prompt.")
ENDED = view(Message.assistant("**2,000** each.", id="a2"), 5, problem=CUT)
REPORT = view(replace(Message.assistant("It rains.", id="b"), source="briefing"), 6, turn=None)


@pytest.mark.browser
def test_thoughts_tools_and_waiting_show_what_a_fresh_snapshot_shows(visit: Visit) -> None:
    scripted = ScriptedPage(visit(), snapshot(QUESTION))
    writing, status = scripted.chat.writing, scripted.chat.page.locator("#status")
    scripted.send(
        TurnStarted(conversation=CONVERSATION, turn="t", client_id="x", messages=(QUESTION,)),
        Waiting(turn="t", sentence="It is busy.", seconds=30.0),
    )
    expect(writing).to_contain_text("It is busy. Trying again in 30 s.")
    expect(status).to_have_text("It is busy. Trying again in 30 s.")
    scripted.send(*(Reading(turn="t", read=read, total=3400) for read in (512, 1024)))
    expect(writing).to_contain_text("reading 1,024 of 3,400 tokens…")
    expect(status).to_have_text("The model reads 3,400 tokens first.")
    scripted.expect_no_change(
        snapshot(QUESTION, turn=TurnView(id="t", user_message="u", reading=(1024, 3400)))
    )
    scripted.send(Delta(turn="t", offset=0, text="First 𝔘", part="reasoning"))
    expect(writing).to_contain_text("writing…")
    expect(writing.locator("summary")).to_have_text("Thinking…")
    scripted.expect_no_change(
        snapshot(QUESTION, turn=TurnView(id="t", user_message="u", reasoning="First 𝔘"))
    )
    scripted.send(
        Delta(turn="t", offset=7, text=" the price.", part="reasoning"),
        Delta(turn="t", offset=0, text="Let me see 👍🏽."),
        Calling(turn="t", name="calculator"),
    )
    expect(writing.locator(".call summary")).to_have_text("Using calculator…")
    expect(status).to_have_text("Using calculator.")
    first = TurnView(
        id="t",
        user_message="u",
        text="Let me see 👍🏽.",
        reasoning="First 𝔘 the price.",
        calling=("calculator",),
    )
    scripted.expect_no_change(snapshot(QUESTION, turn=first))
    scripted.send(
        CallsStarted(turn="t", messages=(CALLING, *RUNNING)),
        CallEnded(turn="t", message=RESULTS[1]),
    )
    lines = scripted.chat.page.locator(".call summary")
    expect(lines).to_have_text(
        ["Using calculator…", 'Used weather(city: "Malo", days: 2)→ failed: No connection.']
    )
    running = TurnView(id="t", user_message="u")
    scripted.expect_no_change(snapshot(QUESTION, CALLING, RUNNING[0], RESULTS[1], turn=running))
    scripted.send(
        CallEnded(turn="t", message=RESULTS[0]),
        Delta(turn="t", offset=0, text="**2,0"),
        TurnEnded(turn="t", state="complete", message=ENDED, reported=None, problem=CUT),
    )
    expect(lines.first).to_have_text('Used calculator("184000 / 92")→ 2000')
    expect(scripted.chat.endings).to_have_text("The server cut the prompt.")
    expect(scripted.chat.answers).to_have_count(1)
    lines.first.click()
    expect(scripted.chat.page.locator(".call pre").first).to_have_text(
        '{\n  "expression": "184000 / 92"\n}'
    )
    scripted.expect_no_change(snapshot(QUESTION, CALLING, *RESULTS, ENDED))
    lines.first.click()
    scripted.expect_no_change_in_a_new_page()
    again = scripted.chat.page.get_by_role("button", name="Try again")
    expect(again).to_have_count(1)
    scripted.send(snapshot(QUESTION, CALLING, *RESULTS, ENDED, REPORT))
    expect(scripted.chat.page.get_by_text("It rains.")).to_be_visible()
    expect(again).to_have_count(1)
    expect(again).to_have_text("")  # further up the icon is enough; the report would go with it
    scripted.send(snapshot(QUESTION, CALLING, *RESULTS, REPORT))  # a report is no part of an answer
    expect(scripted.chat.answers).to_have_count(2)
    expect(again).to_have_count(1)


def in_the_cache(*views: MessageView, status: int) -> tuple[MessageView, ...]:
    return tuple(replace(one, message=replace(one.message, kv_status=status)) for one in views)


@pytest.mark.browser
def test_what_a_cleanup_unloads_shows_what_a_fresh_snapshot_shows(visit: Visit) -> None:
    first = (view(Message.user("One.", id="u1"), 1), view(Message.assistant("1.", id="a1"), 2))
    second = (view(Message.user("Two.", id="u2"), 3), view(Message.assistant("2.", id="a2"), 4))
    scripted = ScriptedPage(visit(), snapshot(*first, *second))
    mark = scripted.chat.users.first.locator(".mark")
    expect(mark).to_be_hidden()
    for status in (0, -1):
        scripted.send(CacheChanged(status={"u1": status, "a1": status, "elsewhere": status}))
        expect(mark).to_have_text("Not sent: unloaded by a cleanup · Bring back")
        scripted.expect_no_change(snapshot(*in_the_cache(*first, status=status), *second))
    expect(scripted.chat.page.locator("article.out")).to_have_count(2)
    scripted.send(CacheChanged(status={"u1": 1, "a1": 1}))
    expect(mark).to_be_hidden()
    scripted.expect_no_change(snapshot(*first, *second))
