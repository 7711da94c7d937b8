"""The meter and the debug panel show the same decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit, provider_environment
from tests.browser.test_accessibility import violations_in_every_look
from tests.browser.watch import Watch, failed_request
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def debugging(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(
        tmp_path_factory.mktemp("debugging"), **provider_environment(fake, DEBUG="true")
    ) as running:
        yield running
        running.kill()


def test_the_panel_switches_between_the_next_message_and_the_last_answer(visit: Visit) -> None:
    chat = visit().open("/chat?historyPolicy=lastN&historyLength=1&debug=true")
    expect(chat.panel.get_by_role("button", name="Last answer")).to_be_disabled()
    chat.turns("One.", "Two.")
    sections = chat.panel.locator("[data-section=parts] h3")
    expect(sections).to_contain_text("What would be sent")
    expect(chat.panel.locator("[data-section=reported]")).to_be_hidden()
    chat.panel.get_by_role("button", name="Last answer").click()
    expect(sections).to_contain_text("What was sent")
    expect(chat.fact("Messages")).to_have_text("4 in the conversation then, 1 sent")
    reported = chat.panel.locator("[data-section=reported]")
    expect(reported).to_contain_text("What the provider reported")
    expect(reported).to_contain_text("First token")
    expect(chat.panel.locator(".fate")).to_contain_text("not sent")
    parts = chat.panel.locator("[data-section=parts]")
    expect(parts).to_contain_text(re.compile(r"Token counts are (exact|estimates)\."))
    expect(parts).to_contain_text("reserved for the reply")
    expect(parts).to_contain_text("temperature is not sent: gpt-6-luna thinks")


def test_a_fresh_chat_holds_no_message_and_the_draft_is_named_apart(visit: Visit) -> None:
    chat = visit().open("/chat?debug=true")
    expect(chat.fact("Messages")).to_have_text("0 in the conversation")
    expect(chat.meter).not_to_contain_text("message")
    rows = chat.panel.locator(".fate .role")
    expect(rows).to_have_text(["system", "greeting"])
    chat.draft.fill("Not sent yet.")
    expect(chat.fact("Messages")).to_have_text("0 in the conversation; your draft would be sent")
    expect(rows).to_have_text(["system", "greeting", "draft"])
    chat.turns("Sent now.")
    # The greeting, which no model gets, the message and its answer.
    expect(chat.fact("Messages")).to_have_text("3 in the conversation, 2 would be sent")
    expect(chat.meter).to_contain_text("1 exchange")
    chat.draft.fill("And another.")
    with_draft = "3 in the conversation, 2 would be sent with your draft"
    expect(chat.fact("Messages")).to_have_text(with_draft)


def test_the_meter_follows_what_is_typed(visit: Visit) -> None:
    chat = visit().open("/chat?debug=true")
    before = chat.meter.locator(".meter-words").inner_text()
    chat.draft.fill("many words " * 400)
    expect(chat.meter.locator(".meter-words")).not_to_have_text(before)
    shown = re.search(r"([\d,]+) (?:of|tokens)", chat.meter.locator(".meter-words").inner_text())
    assert shown
    expect(chat.panel.locator("[data-section=parts] h3 small")).to_contain_text(shown[1])


def test_an_older_answer_shows_what_the_model_saw_then(visit: Visit) -> None:
    chat = visit().open("/chat?historyPolicy=none")
    chat.turns("One.", "Two.", "Three.")
    chat.receipt_buttons.first.click()
    expect(chat.panel).to_be_visible()
    assert "debug=true" in chat.page.url
    expect(chat.panel.locator(".switch [aria-pressed=true]")).to_have_text("Answer 1")
    expect(chat.fact("Messages")).to_have_text("2 in the conversation then, 1 sent")
    expect(chat.panel.locator("[data-section=request]")).to_be_hidden()


def test_the_exact_request_is_shown_only_with_debug(
    visit: Visit, debugging: Server, fake: FakeOpenAI, watch: Watch
) -> None:
    chat = visit(base_url=debugging.url).open("/chat?debug=true")
    chat.say("What exactly was sent?")
    chat.panel.get_by_role("button", name="Last answer").click()
    chat.panel.get_by_text("The exact request").click()
    shown = chat.panel.locator(".request li pre")
    messages = fake.requests[-1]["messages"]
    expect(shown).to_have_count(len(messages))
    assert shown.all_text_contents() == [one["content"] for one in messages]
    turn = re.search(r"request:([0-9a-f-]{36})", chat.panel.inner_html())
    assert turn
    elsewhere = visit().open()
    elsewhere.say("The same without DEBUG.")
    watch.allow(failed_request(404))
    turns = elsewhere.page.evaluate(
        """async (turn) => (await fetch(`/turns/${turn}/request`)).status""", turn[1]
    )
    assert turns == 404


def test_a_verdict_links_to_its_message(visit: Visit) -> None:
    chat = visit().open("/chat?historyPolicy=lastN&historyLength=1&debug=true")
    chat.turns("One.", "Two.")
    expect(chat.fact("Messages")).to_have_text("5 in the conversation, 0 would be sent")
    row = chat.panel.locator(".fate details").filter(has_text="not sent").first
    expect(row.locator("summary")).to_contain_text(re.compile(r"\d+ tokens, "))
    row.locator("summary").click()
    row.get_by_role("button", name="2 user").click()
    expect(chat.users.first).to_be_focused()


def test_the_panel_measures_by_the_token_budget_where_it_is_the_limit(visit: Visit) -> None:
    chat = visit().open("/chat?historyTokens=1000&debug=true")
    expect(chat.chip).to_have_text("Your last 20 exchanges, up to 1,000 tokens")
    expect(chat.setting("token budget", "URL").locator(".win")).to_have_text("1000")
    expect(chat.setting("token budget", "built in").locator("s")).to_have_text("none")
    total = chat.panel.locator("[data-section=parts] h3 small").inner_text()
    used = re.match(r"(\d+) of 1,000 tokens", total)
    assert used
    key = chat.panel.locator("[data-section=parts] .key")
    expect(key).to_contain_text(f"free {1000 - int(used[1])}")
    expect(key).not_to_contain_text("reply")
    # The bar is to the scale of its caption.
    widths = chat.panel.locator(".bar i").evaluate_all(
        "(all) => all.map((one) => [one.className, one.getBoundingClientRect().width])"
    )
    free = next(width for name, width in widths if name == "seg-free")
    assert abs(free / sum(width for _, width in widths) - (1 - int(used[1]) / 1000)) < 0.05
    assert all(width >= 2 for _, width in widths)


def test_a_word_of_the_panel_is_explained_in_place_by_key_and_by_touch(visit: Visit) -> None:
    chat = visit().open("/chat?debug=true")
    word = chat.panel.get_by_role("button", name="Policy", exact=True)
    word.focus()
    word.press("Enter")
    meaning = chat.panel.get_by_role("dialog", name="Policy")
    expect(meaning).to_contain_text("which messages are sent to the model")
    chat.page.keyboard.press("Escape")
    expect(meaning).to_have_count(0)
    expect(word).to_be_focused()
    expect(chat.panel).to_be_visible()


def test_an_open_explanation_stays_open_while_the_numbers_change(visit: Visit) -> None:
    chat = visit().open("/chat?debug=true")
    chat.say("One.")
    elsewhere = chat.tab()
    chat.panel.get_by_role("button", name="Messages", exact=True).click()
    expect(chat.panel.get_by_role("dialog", name="Messages")).to_be_visible()
    elsewhere.say("Two.")
    expect(chat.fact("Messages")).to_contain_text("5 in the conversation")
    meaning = chat.panel.get_by_role("dialog", name="Messages")
    expect(meaning).to_be_visible()
    expect(meaning).to_be_focused()
    chat.page.keyboard.press("Escape")
    expect(meaning).to_have_count(0)
    expect(chat.panel.get_by_role("button", name="Messages", exact=True)).to_be_focused()


# Labels of the panel's tables and lists: those without words are for screen readers, or numbers.
UNEXPLAINED = """() => [...document.querySelectorAll("#panel :is(dt, th, .key li)")]
    .filter((one) => one.checkVisibility() && !one.querySelector(":scope > .hidden"))
    .filter((one) => !one.closest(".sources thead, table:not(.sources) tbody"))
    .filter((one) => !one.querySelector(".term")).map((one) => one.textContent)"""


def test_every_word_of_the_panel_is_explained_in_place(visit: Visit) -> None:
    chat = visit().open("/chat?historyPolicy=relevant&historyTokens=500&debug=true")
    chat.turns(
        *(f"{place} " + "A long sentence about ropes and anchors. " * 12 for place in "ABCD")
    )
    expect(chat.panel.locator("[data-section=chosen] dt").first).to_be_visible()
    chat.panel.locator("details.rest summary").first.click()
    expect(chat.panel.locator("table.compare")).to_be_visible()
    for view in ("Next message", "Last answer"):
        chat.panel.get_by_role("button", name=view).click()
        expect(chat.panel.get_by_role("button", name=view)).to_have_attribute(
            "aria-pressed", "true"
        )
        expect(chat.panel.locator("[data-section=facts] .term")).to_have_count(4)
        assert chat.page.evaluate(UNEXPLAINED) == []
    word = chat.panel.locator("[data-section=chosen]").get_by_role("button", name="Matches")
    word.click()
    expect(chat.panel.get_by_role("dialog")).to_contain_text("found to match")


def test_escape_closes_the_panel_wherever_the_focus_is(visit: Visit) -> None:
    chat = visit().open("/chat?debug=true")
    chat.draft.focus()
    chat.page.keyboard.press("Escape")
    expect(chat.panel).to_be_hidden()
    expect(chat.draft).to_be_focused()
    toggle = chat.page.locator("#panel-toggle")
    toggle.click()
    chat.panel.get_by_role("button", name="Last answer").or_(chat.panel).first.focus()
    chat.page.keyboard.press("Escape")
    expect(chat.panel).to_be_hidden()
    expect(toggle).to_be_focused()


def test_the_panel_with_an_open_explanation_is_accessible(visit: Visit) -> None:
    chat = visit().open("/chat?historyLength=1&debug=true")
    chat.turns("One.", "Two.")
    chat.panel.get_by_role("button", name="unchanged").click()
    expect(chat.panel.get_by_role("dialog", name="unchanged")).to_be_visible()
    assert violations_in_every_look(chat.page) == []
