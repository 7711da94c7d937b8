"""Compacting by hand: shown first, changed, applied, undone and applied again."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import violations_in_every_look
from tests.browser.watch import Watch, failed_request
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser
TALK = {
    "My order number is AB-48213.": "It goes to Harbour Street, with the form RMA-771.",
    "What does the lamp weigh?": "It weighs 3,250 grams.",
    "Which bulb fits?": "An ordinary bulb.",
    "Is there a blue one?": "There is.",
}
MORE = " The shop answers every day until the evening." * 6
SHORT = "The user ordered a lamp."
POLICY = "/chat?historyPolicy=tokens&historyTokens=900"


def talk(chat: Chat, fake: FakeOpenAI, path: str = POLICY) -> Chat:
    chat.open(path)
    for question, said in TALK.items():
        fake.script.append(said + MORE)
        chat.say(question)
    return chat


def window(chat: Chat) -> Locator:
    dialog = chat.page.locator("#compact")
    expect(dialog).to_be_visible()
    return dialog


def open_from_meter(chat: Chat) -> Locator:
    chat.meter.get_by_role("button", name="Compact…").click()
    return window(chat)


def text_of(dialog: Locator) -> Locator:
    return dialog.get_by_label("What the model gets in their place")


def apply(dialog: Locator) -> None:
    dialog.get_by_role("button", name="Compact", exact=True).click()
    expect(dialog).to_be_hidden()


def test_a_lost_value_is_kept_and_the_compaction_undone_and_applied_again(
    visit: Visit, fake: FakeOpenAI
) -> None:
    chat = talk(visit(), fake)
    dialog = open_from_meter(chat)
    expect(dialog).to_contain_text("2 of 4 exchanges become the summary")
    figures = dialog.locator("#compact-figures")
    expect(figures).to_contain_text("Frees about")
    of_plain_draft = figures.inner_text()
    expect(text_of(dialog)).to_have_value(re.compile("AB-48213"))
    expect(chat.meter).to_contain_text("all 4 exchanges")
    before = chat.meter.inner_text()
    asked = len(fake.requests)

    fake.script.append(SHORT)
    dialog.get_by_label("What the model should keep").fill("the form")
    dialog.get_by_role("button", name="Write it with").click()
    expect(text_of(dialog)).to_have_value(SHORT)
    assert len(fake.requests) == asked + 1 and "the form" in str(fake.requests[-1])
    lost = dialog.get_by_role("group", name="Not in the summary:")
    expect(lost.get_by_role("button", name="Keep 3,250 grams")).to_be_visible()
    expect(figures).not_to_have_text(of_plain_draft)
    of_short_one = figures.inner_text()
    assert violations_in_every_look(chat.page) == []
    keep = dialog.get_by_role("button", name="Keep AB-48213")
    keep.press("Enter")
    expect(keep).to_have_count(0)
    expect(text_of(dialog)).to_have_value(f"{SHORT}\n\nExact values: AB-48213")
    expect(dialog.locator(".lost-value").first).to_be_focused()
    expect(figures).not_to_have_text(of_short_one)
    of_longer_one = figures.inner_text()
    expect(dialog.locator(".lost-value").first).to_be_focused()
    dialog.get_by_role("button", name="Keep all").click()
    expect(figures).not_to_have_text(of_longer_one)
    expect(dialog.locator(".lost-box")).to_be_hidden()
    expect(text_of(dialog)).to_be_focused()
    assert chat.meter.inner_text() == before, "nothing is changed before it is applied"

    apply(dialog)
    expect(chat.draft).to_be_focused()
    expect(chat.toasts).to_contain_text("2 exchanges are sent as a summary.")
    expect(chat.horizon).to_contain_text("Everything above is sent as your summary")
    fake.script.append("It is noted.")
    chat.say("And my order number?")
    sent = str(fake.requests[-1]["messages"])
    assert "Exact values: AB-48213" in sent and "What does the lamp weigh?" not in sent

    chat.horizon.get_by_role("button", name="Undo").click()
    expect(chat.toasts).to_contain_text("Your policy decides again which of these messages are")
    expect(chat.meter).to_contain_text("all 5 exchanges")
    chat.toasts.get_by_role("button", name="Apply again").click()
    expect(chat.horizon).to_contain_text("Everything above is sent as your summary")
    chat.horizon.get_by_role("button", name="Read").click()
    summary = chat.page.locator("#summary")
    expect(summary).to_contain_text("You put it in the place of these messages.")
    assert violations_in_every_look(chat.page) == []
    summary.get_by_role("button", name="Undo").click()
    expect(summary).to_be_hidden()
    expect(chat.meter).to_contain_text("all 5 exchanges")
    dialog = open_from_meter(chat)
    dialog.get_by_role("button", name="Apply it again").click()
    expect(chat.horizon).to_contain_text("Everything above is sent as your summary")


def test_an_instruction_that_the_summary_lost_is_kept_and_its_message_says_so(
    visit: Visit, fake: FakeOpenAI
) -> None:
    said = "From now on, answer in one sentence."
    chat = visit().open(POLICY)
    for question in (f"Hello! {said}", "What is new?", "And else?"):
        fake.script.append("There is a lamp." + MORE)
        chat.say(question)
    dialog = open_from_meter(chat)
    text_of(dialog).fill(SHORT)
    dialog.get_by_role("button", name=f"Keep {said}").click()
    expect(text_of(dialog)).to_have_value(f"{SHORT}\n\nThe user's instruction: {said}")
    expect(dialog.get_by_role("button", name=f"Keep {said}")).to_have_count(0)
    apply(dialog)
    first = chat.users.first
    first.get_by_role("button", name="Keep in force here").click()
    expect(first).to_contain_text("End it")
    first.hover()
    first.get_by_role("button", name="Why did it forget?").click()
    why = chat.page.locator("#why")
    expect(why).to_contain_text(f"In force, and sent with every message: “{said}”")
    expect(why).to_contain_text("a summary stands for it")
    why.get_by_role("button", name="Read the summary").click()
    expect(chat.page.locator("#summary")).to_contain_text("You put it in the place of these")


def test_an_exchange_is_taken_out_and_one_more_taken_in(visit: Visit, fake: FakeOpenAI) -> None:
    chat = talk(visit(), fake)
    dialog = open_from_meter(chat)
    rows = dialog.locator("#compact-turns li")
    expect(rows.last.get_by_role("checkbox")).to_be_disabled()
    expect(rows.last).to_contain_text("newest, stays")
    rows.nth(0).get_by_role("checkbox").uncheck()
    expect(dialog).to_contain_text("1 of 4 exchanges becomes the summary")
    expect(rows.nth(0).get_by_role("checkbox")).to_be_focused()
    expect(text_of(dialog)).not_to_have_value(re.compile("AB-48213"))
    slider = dialog.get_by_role("slider")
    slider.press("ArrowRight")
    expect(dialog).to_contain_text("2 of 4 exchanges become the summary")
    expect(slider).to_have_attribute("aria-valuetext", "Which bulb fits?")
    slider.press("ArrowLeft")
    expect(dialog).to_contain_text("1 of 4 exchanges becomes the summary")
    rows.nth(2).get_by_role("checkbox").check()
    expect(dialog).to_contain_text("2 of 4 exchanges become the summary")
    apply(dialog)
    fake.script.append("It is noted.")
    chat.say("And now?")
    sent = [one["content"] for one in fake.requests[-1]["messages"]]
    assert "My order number is AB-48213." in sent[1] and "Which bulb fits?" not in sent


def test_a_choice_that_folds_nothing_is_refused_and_the_one_before_holds(
    visit: Visit, fake: FakeOpenAI, watch: Watch
) -> None:
    watch.allow(failed_request(409))
    chat = talk(visit(), fake)
    dialog = open_from_meter(chat)
    boxes = dialog.get_by_role("checkbox")
    boxes.nth(0).uncheck()
    expect(dialog).to_contain_text("1 of 4 exchanges becomes the summary")
    boxes.nth(1).click()
    expect(dialog.get_by_role("alert")).to_contain_text("There is nothing to fold")
    expect(boxes.nth(1)).to_be_checked()
    expect(dialog.get_by_role("button", name="Compact", exact=True)).to_be_enabled()


def test_the_window_closes_when_another_chat_is_opened(visit: Visit, fake: FakeOpenAI) -> None:
    chat = talk(visit(), fake)
    chat.open("/chat")
    chat.page.go_back()
    dialog = open_from_meter(chat)
    chat.page.go_forward()
    expect(dialog).to_be_hidden()


def test_the_command_opens_it_and_is_never_sent_and_escape_keeps_what_was_typed(
    visit: Visit, fake: FakeOpenAI, watch: Watch
) -> None:
    watch.allow(failed_request(409))
    chat = talk(visit(viewport={"width": 400, "height": 800}), fake, "/chat")
    chat.write("/compact the order number")
    dialog = window(chat)
    expect(dialog.get_by_label("What the model should keep")).to_have_value("the order number")
    expect(chat.draft).to_have_value("")
    text_of(dialog).fill("My own words.")
    chat.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(chat.draft).to_be_focused()
    expect(chat.users).to_have_count(len(TALK))
    chat.page.keyboard.press("Control+KeyK")
    chat.page.keyboard.type("compact")
    expect(chat.page.get_by_role("option").first).to_contain_text("Compact: make room")
    chat.page.keyboard.press("Enter")
    expect(text_of(window(chat))).to_have_value("My own words.")
    dialog.get_by_role("button", name="Cancel").click()
    chat.write("/compact")
    expect(text_of(window(chat))).not_to_have_value("My own words.")
    width = dialog.evaluate("one => one.getBoundingClientRect().width")
    assert width == 400
    apply(dialog)
    chat.horizon.get_by_role("button", name="compact").click()
    expect(chat.toasts).to_contain_text("There is nothing to fold")


def test_a_draft_is_stopped_fails_and_gives_way_and_the_text_is_kept(
    visit: Visit, fake: FakeOpenAI, watch: Watch
) -> None:
    watch.allow(failed_request(502), failed_request(503))
    chat = talk(visit(), fake)
    dialog = open_from_meter(chat)
    text_of(dialog).fill("My own words.")
    fake.script.append(answer(SHORT, first=30))
    dialog.get_by_role("button", name="Write it with").click()
    expect(dialog).to_contain_text("It is being written…")
    expect(dialog.get_by_role("button", name="Compact", exact=True)).to_be_disabled()
    dialog.get_by_role("button", name="Stop").click()
    expect(text_of(dialog)).to_have_value("My own words.")
    fake.script.append("[[mode=401]]")
    dialog.get_by_role("button", name="Write it with").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    expect(text_of(dialog)).to_have_value("My own words.")
    fake.script.append(SHORT)
    dialog.get_by_role("button", name="Write it with").click()
    expect(text_of(dialog)).to_have_value(SHORT)
    dialog.get_by_role("button", name="Use the previous text").click()
    expect(text_of(dialog)).to_have_value("My own words.")


def test_a_chat_without_anything_to_compact_says_so(visit: Visit, watch: Watch) -> None:
    watch.allow(failed_request(409))
    chat = visit().open()
    chat.write("/compact")
    expect(chat.toasts).to_contain_text("There is nothing to compact yet.")
    expect(chat.draft).to_have_value("/compact")
    chat.say("Hello.")
    chat.write("/compact")
    expect(chat.toasts).to_contain_text("There is nothing to fold")
    expect(chat.page.locator("#compact")).to_be_hidden()
