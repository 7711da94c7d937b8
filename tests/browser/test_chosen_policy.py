"""A policy chosen in the page is kept with its chat: over the template, under link and server."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import REASON, Visit, provider_environment
from tests.browser.test_accounts import PASSWORD, sign_up
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server, copy_database

pytestmark = pytest.mark.browser
NAME = f"ada-{secrets.token_hex(4)}"
COPY = "Copy link with these settings"
BACK = "Reset to the agent's default"
OWN = "Use this chat's own choice"


def choose(chat: Chat, name: str) -> None:
    chat.chip.click()
    chat.popover.get_by_label(name).check()
    chat.page.keyboard.press("Escape")


def test_a_chosen_policy_is_there_again_after_leaving_and_coming_back(
    visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit().open("/chat?agent=demo")
    chat.turns("One.", "Two.")
    choose(chat, "Only your new message")
    expect(chat.chip).to_have_text("Only your new message")
    chat.page.locator("#new").click()
    expect(chat.chip).to_have_text("Your last 20 exchanges")
    chat.row("One.").locator("a.conv").click()
    expect(chat.chip).to_have_text("Only your new message")
    assert "history" not in chat.page.url
    chat.say("Three.")
    sent = [one["content"] for one in fake.requests[-1]["messages"] if one["role"] == "user"]
    assert sent == ["Three."]
    again = chat.tab()
    expect(again.chip).to_have_text("Only your new message")
    assert again.page.evaluate("sessionStorage.getItem('history:' + location.pathname)") is None


def test_what_is_chosen_before_the_first_message_is_kept_with_the_chat(
    visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit().open("/chat?agent=demo&historyPolicy=lastN&historyLength=2&historyTokens=3000")
    expect(chat.chip).to_have_text("Your last 2 exchanges, up to 3,000 tokens")
    chat.chip.click()
    chat.popover.get_by_role("button", name="One more").click()
    expect(chat.chip).to_have_text("Your last 3 exchanges, up to 3,000 tokens")
    assert "history" not in chat.page.url and "agent=demo" in chat.page.url
    chat.page.keyboard.press("Escape")
    chat.reload()
    expect(chat.chip).to_have_text("Your last 3 exchanges, up to 3,000 tokens")
    chat.turns("One.", "Two.", "Three.", "Four.")
    sent = [one["content"] for one in fake.requests[-1]["messages"] if one["role"] == "user"]
    assert sent == ["Two.", "Three.", "Four."]
    expect(chat.tab().chip).to_have_text("Your last 3 exchanges, up to 3,000 tokens")


def test_two_choices_in_a_row_are_both_kept(visit: Visit) -> None:
    chat = visit().open("/chat?agent=demo")
    chat.say("One.")
    chat.chip.click()
    chat.popover.get_by_label("Recent, plus older messages that match").check()
    chat.popover.get_by_label("Token limit").fill("2000")
    expect(chat.chip).to_have_text("Recent, plus older messages that match, up to 2,000 tokens")


def test_another_open_page_of_the_same_chat_follows(visit: Visit) -> None:
    chat = visit().open("/chat?agent=demo")
    chat.say("One.")
    other = chat.tab()
    choose(chat, "Everything")
    expect(other.chip).to_have_text("Everything")
    other.chip.click()
    other.popover.get_by_role("button", name=BACK).click()
    expect(other.popover.get_by_role("button", name=BACK)).to_be_hidden()
    expect(other.popover).to_be_focused()
    expect(chat.chip).to_have_text("Your last 20 exchanges")


def test_a_link_comes_before_the_choice_and_the_page_says_so(visit: Visit) -> None:
    chat = visit().open("/chat?agent=demo")
    chat.say("One.")
    choose(chat, "Everything")
    expect(chat.chip).to_have_text("Everything")
    chat.open(f"{chat.page.url}?historyPolicy=none&debug=true")
    expect(chat.chip).to_have_text("Only your new message set by the link")
    expect(chat.setting("policy", "URL").locator(".win")).to_have_text("none")
    expect(chat.setting("policy", "conversation").locator("s")).to_have_text("all")
    expect(chat.panel.locator(".reasons")).to_contain_text(
        "chat historyPolicy=all overridden: the URL (historyPolicy) comes first"
    )
    chat.chip.click()
    expect(chat.popover.get_by_role("status")).to_contain_text(
        "historyPolicy=all: kept with this chat; the link in the page's address comes first."
    )
    chat.popover.get_by_role("button", name=OWN).click()
    expect(chat.chip).to_have_text("Everything")
    assert "historyPolicy" not in chat.page.url and "debug=true" in chat.page.url
    expect(chat.setting("policy", "conversation").locator(".win")).to_have_text("all")


def test_choosing_takes_the_links_settings_out_of_the_address(visit: Visit) -> None:
    chat = visit().open("/chat?agent=demo&historyPolicy=none&debug=true")
    chat.say("One.")
    assert "historyPolicy=none" in chat.page.url
    choose(chat, "Everything")
    expect(chat.chip).to_have_text("Everything")
    chat.page.wait_for_url(lambda url: "history" not in url and "debug=true" in url)


def test_a_copied_link_opens_a_page_with_the_same_settings(visit: Visit) -> None:
    chat = visit(permissions=["clipboard-read", "clipboard-write"]).open("/chat?agent=demo")
    chat.chip.click()
    chat.popover.get_by_label("Recent, plus older messages that match").check()
    chat.popover.get_by_label("Token limit").fill("1500")
    words = "Recent, plus older messages that match, up to 1,500 tokens"
    expect(chat.chip).to_have_text(words)
    chat.popover.get_by_role("button", name=COPY).press("Enter")
    expect(chat.page.locator("#status")).to_have_text("Copied.")
    link = chat.page.evaluate("navigator.clipboard.readText()")
    assert "historyPolicy=relevant" in link and "historyTokens=1500" in link
    assert "history" not in chat.page.url
    expect(visit().open(link).chip).to_have_text(words)


def test_a_number_that_is_none_is_refused_where_it_is_typed(visit: Visit) -> None:
    chat = visit().open("/chat?agent=demo")
    chat.say("One.")
    chat.chip.click()
    tokens = chat.popover.get_by_label("Token limit")
    tokens.fill("900")
    expect(chat.chip).to_have_text("Your last 20 exchanges, up to 900 tokens")
    tokens.fill("0")
    expect(chat.popover.get_by_role("status")).to_have_text(
        "Enter a whole number from 1 to 1,000,000. The value before is kept."
    )
    tokens.fill("800")
    expect(chat.chip).to_have_text("Your last 20 exchanges, up to 800 tokens")
    expect(chat.popover.get_by_role("status")).to_be_empty()


@pytest.fixture
def chosen_before(
    fake: FakeOpenAI, server: Server, tmp_path: Path, visit: Visit
) -> Iterator[Server]:
    """The environment decides, where the same people's choices were kept before it did."""
    chat = visit()
    sign_up(chat, NAME)
    chat.say("One.")
    choose(chat, "Everything")
    expect(chat.chip).to_have_text("Everything")
    chat.page.close()
    copy_database(server.folder, tmp_path)
    environment = {"HISTORY_POLICY": "lastN", "HISTORY_LENGTH": "2", "HISTORY_REASON": REASON}
    with Server(tmp_path, **provider_environment(fake, **environment)) as now:
        yield now
        now.kill()


def test_the_environment_comes_before_the_choice_and_the_page_gives_the_reason(
    visit: Visit, chosen_before: Server
) -> None:
    chat = visit(base_url=chosen_before.url)
    chat.page.goto("/accounts/login/?next=/chat?debug=true")
    chat.page.get_by_label("Name").fill(NAME)
    chat.page.get_by_label("Password").fill(PASSWORD)
    chat.page.get_by_role("button", name="Sign in").click()
    chat.ready().row("One.").locator("a.conv").click()
    expect(chat.chip).to_have_text("Your last 2 exchanges set by the administrator")
    expect(chat.setting("policy", "conversation").locator("s")).to_have_text("all")
    why = (
        "the environment sets HISTORY_POLICY, so the choice kept with this conversation doesn't "
        "apply"
    )
    expect(chat.panel.locator(".reasons")).to_contain_text(f"historyPolicy=all ignored: {why}")
    chat.chip.click()
    expect(chat.popover).to_contain_text(REASON)
    expect(chat.popover.get_by_role("status")).to_have_text(f"historyPolicy=all: {why}.")
    for name in (COPY, BACK, OWN):
        expect(chat.popover.get_by_role("button", name=name)).to_be_hidden()
    chat.page.close()  # the page would look for the server, which stops here
