"""The comparison with other policies, copying a receipt, and links that may not choose."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit, provider_environment
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def without_links(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("without_links")
    with Server(folder, **provider_environment(fake, HISTORY_URL="off")) as running:
        yield running
        running.kill()


def test_one_click_in_the_comparison_changes_what_the_next_message_is_sent_with(
    visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit().open("/chat?historyPolicy=lastN&historyLength=1&debug=true")
    chat.turns("One.", "Two.")
    requests_before = len(fake.requests)
    table = chat.panel.locator("[data-section=compare] table")
    now = table.locator("tr.now")
    expect(now.locator("th")).to_contain_text("lastN 1")
    expect(now.locator("td").first).to_have_text("0")
    table.get_by_role("button", name="all", exact=True).click()
    expect(chat.chip).to_have_text("Everything")
    expect(now.locator("th")).to_contain_text("all")
    expect(table.get_by_role("button", name="all")).to_be_focused()
    sent = now.locator("td").first.inner_text()
    expect(chat.fact("Messages")).to_contain_text(f"{sent} would be sent")
    assert "history" not in chat.page.url
    assert len(fake.requests) == requests_before


def test_a_receipt_is_copied_as_it_is_stored(visit: Visit) -> None:
    chat = visit(permissions=["clipboard-read", "clipboard-write"]).open("/chat?debug=true")
    chat.say("One.")
    chat.panel.get_by_role("button", name="Last answer").click()
    chat.panel.get_by_role("button", name="Copy as JSON").click()
    expect(chat.page.locator("#status")).to_have_text("Copied.")
    copied = json.loads(chat.page.evaluate("navigator.clipboard.readText()"))
    stored = chat.ask("GET", f"/turns/{copied['turn']}/receipt")
    assert copied == stored.json()


def test_the_page_says_why_links_can_not_choose(visit: Visit, without_links: Server) -> None:
    chat = visit(base_url=without_links.url).open("/chat?historyPolicy=all&debug=true")
    chat.say("One.")
    expect(chat.chip).to_have_text("Your last 20 exchanges")
    row = chat.panel.locator("[data-section=compare] tbody tr").filter(has_text="none")
    expect(row).to_contain_text(
        "can't be chosen here: nothing can be chosen in the page on this server"
    )
    expect(row.get_by_role("button")).to_have_count(0)
    chat.chip.click()
    expect(chat.popover).to_contain_text(
        "Nothing can be chosen in the page on this server (HISTORY_URL is off)."
    )
    for control in chat.popover.locator("input, .stepper button").all():
        expect(control).to_be_disabled()
