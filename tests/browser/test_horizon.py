"""The line above which the model no longer sees, and the control that moves it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser


@pytest.fixture
def four_turns(visit: Visit) -> Chat:
    """Four turns under `lastN 2`."""
    chat = visit().open("/chat?historyPolicy=lastN&historyLength=2")
    chat.turns("One.", "Two.", "Three.", "Four.")
    expect(chat.horizon).to_be_visible()
    return chat


def test_the_line_shows_what_the_next_message_leaves_behind(four_turns: Chat) -> None:
    chat = four_turns
    # The next message is one of the two, so only the last of the four turns is sent with it.
    expect(chat.page.locator(".horizon-place + article")).to_contain_text("Four.")
    expect(chat.page.locator("article.out")).to_have_count(7)
    expect(chat.horizon.get_by_role("separator")).to_have_attribute(
        "aria-label",
        "The model no longer sees anything above this line. 3 exchanges will not be sent.",
    )
    expect(chat.meter).to_contain_text("1 of 4 exchanges")


def test_the_line_moves_with_the_length_before_anything_is_sent(
    four_turns: Chat, fake: FakeOpenAI
) -> None:
    chat, requests_before = four_turns, len(fake.requests)
    chat.chip.click()
    chat.popover.get_by_role("button", name="One more").click()
    expect(chat.page.locator(".horizon-place + article")).to_contain_text("Three.")
    expect(chat.chip).to_have_text("Your last 3 exchanges")
    chat.popover.get_by_label("How many exchanges").fill("9")
    expect(chat.horizon).to_have_count(0)
    chat.popover.get_by_label("Only your new message").check()
    expect(chat.horizon).to_contain_text("Only your new message is sent")
    assert len(chat.above_the_line()) == 9
    assert "history" not in chat.page.url
    assert len(fake.requests) == requests_before


def test_the_choice_is_kept_with_the_chat_and_a_reload_shows_it(four_turns: Chat) -> None:
    chat = four_turns
    length = chat.page.evaluate("history.length")
    chat.chip.click()
    chat.popover.get_by_role("button", name="One more").click()
    expect(chat.page.locator(".horizon-place + article")).to_contain_text("Three.")
    assert chat.page.evaluate("history.length") == length
    # A reload takes the address that the browser has, which hears of a change after the page.
    chat.page.wait_for_url(lambda url: "history" not in url)
    chat.reload()
    assert "history" not in chat.page.url
    expect(chat.page.locator(".horizon-place + article")).to_contain_text("Three.")
    expect(chat.chip).to_have_text("Your last 3 exchanges")
    chat.chip.click()
    chat.popover.get_by_role("button", name="Reset to the agent's default").click()
    expect(chat.chip).to_have_text("Your last 20 exchanges")
    expect(chat.horizon).to_have_count(0)
    assert "history" not in chat.page.url


def test_what_is_sent_is_what_the_line_showed(four_turns: Chat, fake: FakeOpenAI) -> None:
    four_turns.say("Five.")
    messages = fake.requests[-1]["messages"]
    assert [one["content"] for one in messages if one["role"] == "user"] == ["Four.", "Five."]
    expect(four_turns.page.locator(".horizon-place + article")).to_contain_text("Five.")


def test_links_elsewhere_leave_the_history_out_and_keep_the_panel(visit: Visit) -> None:
    chat = visit().open("/chat?historyPolicy=lastN&historyLength=2&debug=true")
    chat.say("One.")
    chat.page.locator("#agent-open").click()
    links = [*chat.popover.get_by_role("link").all(), chat.page.locator("#new")]
    links.append(chat.page.locator("#convs a.conv").first)
    for link in links:
        address = link.get_attribute("href") or ""
        assert "history" not in address
        assert "debug=true" in address
    chat.popover.get_by_role("link", name="Rewriter").click()
    expect(chat.chip).to_have_text("Only your new message")
    assert "history" not in chat.page.url


def test_the_line_says_how_much_is_sent_and_why_and_leads_to_the_choice(four_turns: Chat) -> None:
    chat = four_turns
    expect(chat.horizon).to_contain_text("1 of 4 exchanges are sent change · why")
    chat.horizon.get_by_role("button", name="why").click()
    why = chat.horizon.get_by_role("dialog")
    expect(why).to_contain_text("The rule: Your last 2 exchanges.")
    chat.page.keyboard.press("Escape")
    chat.horizon.get_by_role("button", name="change").click()
    expect(chat.popover).to_be_visible()
    line = chat.horizon.locator(".horizon-words").bounding_box()
    menu = chat.popover.bounding_box()
    assert line and menu
    assert line["x"] + line["width"] < menu["x"], "the menu stands beside the line"
    chat.popover.get_by_role("button", name="One more").click()
    expect(chat.horizon).to_contain_text("2 of 4 exchanges are sent")


def test_a_press_isnt_lost_while_the_words_of_the_button_change(four_turns: Chat) -> None:
    chat = four_turns
    chat.page.locator("#chip-words b").hover()
    chat.page.mouse.down()
    chat.page.evaluate("document.querySelector('#chip-words b').outerHTML = '<b>Last 2</b>'")
    chat.page.mouse.up()
    expect(chat.popover.get_by_label("Your last exchanges")).to_be_checked()


COVERED = """() => {
  const line = document.querySelector(".horizon-words").getBoundingClientRect();
  const menu = document.querySelector(".policy-pop").getBoundingClientRect();
  const apart = line.right <= menu.left || line.left >= menu.right
    || line.bottom <= menu.top || line.top >= menu.bottom;
  return !apart;
}"""


def test_the_menu_of_memories_never_covers_the_line(visit: Visit) -> None:
    chat = visit().open("/chat")
    chat.turns(*(f"Question {number}. " + "It goes on for long. " * 12 for number in range(6)))
    for width in (400, 800, 1000, 1280, 1700):
        check_menu_beside_line(chat, width)
    chat.page.locator("#panel-toggle").click()
    expect(chat.panel.locator("[data-section=facts]")).to_be_visible()
    for width in (1700, 1280, 1000, 800):
        check_menu_beside_line(chat, width)


def check_menu_beside_line(chat: Chat, width: int) -> None:
    chat.page.set_viewport_size({"width": width, "height": 900})
    chat.page.locator("#chip").click()
    # Your messages stand at 2, 4 to 12, and the next one counts.
    for length in (3, 4, 5, 2):
        chat.popover.get_by_role("spinbutton").first.fill(str(length))
        expect(chat.page.locator(".horizon-place + article")).to_have_attribute(
            "data-seq", str(16 - 2 * length)
        )
        chat.page.wait_for_function(f"() => !({COVERED})()")
    chat.page.keyboard.press("Escape")
    expect(chat.messages.last).to_be_in_viewport()
