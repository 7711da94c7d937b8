"""A fact of an early turn is forgotten, the page says why, and another policy sends it again."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.voyage import BERTH, LOST, QUESTION
from tests.browser.voyage_setup import knows, store_voyage
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser
LAST_FIVE = "historyPolicy=lastN&historyLength=5"


def test_a_fact_lost_after_sixty_turns_is_explained_and_found_again(
    visit: Visit, server: Server, fake: FakeOpenAI
) -> None:
    chat = visit().open()
    page = chat.page
    conversation = store_voyage(chat, server, fake, query=LAST_FIVE)

    # The horizon shows the loss before anything is sent: the draft is one of the five.
    chat.open(f"/chat/{conversation}?{LAST_FIVE}&debug=true")
    expect(page.locator(".horizon-place + article")).to_contain_text("Anything to do to the boat")
    expect(chat.fact("Messages")).to_have_text("121 in the conversation, 8 would be sent")
    answer = chat.say(QUESTION)
    expect(answer).to_contain_text(LOST[:60])
    assert not knows(fake.requests[-1])

    # "Why did it forget?" names the rule, when it applied first, and who set it.
    chat.load_all()
    early_turn = chat.users.filter(has_text=BERTH)
    expect(early_turn).to_have_class("m user out")
    early_turn.hover()
    early_turn.get_by_role("button", name="Why did it forget?").click()
    why = page.get_by_role("dialog", name="Why did it forget?")
    expect(why).to_contain_text(
        "It dropped out of the context at turn 9, 5 exchanges later, when you sent “Ida gets "
        "seasick in cars. Should I worry?”: older than your last 5 exchanges (set in the page's "
        "address)."
    )
    expect(why).to_contain_text("It won't be sent with your next message either.")
    why.get_by_role("button", name="Close").click()

    # Under another policy the page marks the turns relevant to the draft before it is sent.
    chat.chip.click()
    chat.popover.get_by_label("Recent, plus older messages that match").check()
    chat.popover.get_by_label("Token limit").fill("1500")
    expect(chat.chip).to_have_text("Recent, plus older messages that match, up to 1,500 tokens")
    page.keyboard.press("Escape")
    expect(early_turn.locator(".mark")).to_be_hidden()
    chat.draft.fill(QUESTION)
    expect(early_turn.locator(".mark")).to_contain_text("it shares")
    expect(chat.say(QUESTION)).to_contain_text(BERTH)
    assert knows(fake.requests[-1])

    # The panel says why the turn was sent.
    chat.panel.get_by_role("button", name="Last answer").click()
    fate = chat.panel.locator(".fate li", has=page.locator(".place", has_text="8"))
    expect(fate.filter(has_text="sent as a quote").filter(has_text="berth")).to_have_count(1)
    expect(chat.panel.locator("[data-section=chosen]")).to_contain_text("gate")
    expect(chat.panel.locator("[data-section=parts] .key")).to_contain_text("quotes")
