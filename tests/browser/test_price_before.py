"""The price before: what the next message would cost, and the question before a dear one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit, provider_environment
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser
# 3 cents for a thousand tokens that are sent, whether the cache has them or not.
PRICE = {"input": 30.0, "output": 60.0}
MODELS = {"models": {"openai:gpt-6-luna": {"price": PRICE}}}
LIMIT = "0.06"
SOME = "word " * 400
MUCH = "Tell me much. [[tokens=600]]"
ABOUT = re.compile(r"about \$0\.\d+")


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The application with a dear model, which asks from 6 cents on."""
    folder = tmp_path_factory.mktemp("prices")
    (folder / "models.json").write_text(json.dumps(MODELS))
    environment = provider_environment(
        fake, MODELS_FILE=str(folder / "models.json"), WARN_COST=LIMIT
    )
    with Server(folder / "var", **environment) as running:
        yield running
        running.kill()


def button(chat: Chat, name: str | re.Pattern[str]) -> Locator:
    return chat.notice.get_by_role("button", name=name)


def dear(chat: Chat) -> Chat:
    """So much was said that whatever comes next costs more than the limit."""
    return chat.turns(f"One {SOME}", f"Two {SOME}", MUCH)


def asked(chat: Chat) -> None:
    """A short message is asked about."""
    dear(chat).write("And what now?")
    expect(chat.notice).to_contain_text("This message costs about $0.")


def test_the_meter_says_what_the_next_message_would_cost(chat: Chat) -> None:
    chat.draft.fill("Hello")
    expect(chat.meter.locator(".cost")).to_have_text(
        re.compile(r"^about \$0\.\d+ plus the answer$")
    )
    chat.say("Hello")
    expect(chat.meter.locator(".cost")).to_have_text(re.compile(r"^about \$0\.\d+$"))
    title = chat.meter.get_attribute("title") or ""
    assert "for an answer as long as the last ones" in title
    assert "Estimated from list prices." in title


def test_where_no_price_is_known_nothing_is_said_and_nothing_asked(
    visit: Visit, tmp_path: Path
) -> None:
    with Server(tmp_path, WARN_COST="0.000001") as server:  # nobody sells the echo
        chat = visit(base_url=server.url).open()
        chat.say("Hello")
        expect(chat.meter).to_contain_text("tokens")
        expect(chat.meter.locator(".cost")).to_have_count(0)
        assert "cost" not in (chat.meter.get_attribute("title") or "")


def test_the_panel_says_what_the_price_is_made_of(visit: Visit) -> None:
    chat = visit().open("/chat?debug=true")
    chat.turns(f"1 {SOME}")
    price = chat.panel.locator("[data-section=parts] .price")
    expect(price).to_contain_text("mostly earlier messages")
    expect(price).to_contain_text("Estimated from list prices.")
    chat.panel.get_by_role("button", name="Last answer").click()
    expect(price).to_have_count(0)


def test_a_cheap_message_is_sent_without_asking(chat: Chat) -> None:
    chat.say("Hello")
    expect(chat.notice).to_be_hidden()


def test_a_dear_one_stays_in_the_box_and_is_not_sent_before_the_answer(
    chat: Chat, fake: FakeOpenAI
) -> None:
    asked(chat)
    requests = len(fake.requests)
    expect(chat.notice).to_contain_text("mostly earlier messages")
    expect(chat.draft).to_have_value("And what now?")
    expect(chat.users).to_have_count(3)
    assert len(chat.stored()) == 7
    button(chat, "Cancel").click()
    expect(chat.notice).to_be_hidden()
    expect(chat.draft).to_have_value("And what now?")
    expect(chat.draft).to_be_focused()
    assert len(fake.requests) == requests
    chat.draft.press("Enter")
    button(chat, "Send it").first.click()
    expect(chat.receipt_buttons).to_have_count(4)
    expect(chat.draft).to_have_value("")
    expect(chat.notice).to_be_hidden()
    assert len(fake.requests) == requests + 1


def test_the_cheaper_policy_is_used_once(chat: Chat, fake: FakeOpenAI) -> None:
    asked(chat)
    before = chat.chip.inner_text()
    cheaper = button(chat, re.compile("^Send it with "))
    expect(cheaper).to_contain_text(ABOUT)
    cheaper.click()
    expect(chat.receipt_buttons).to_have_count(4)
    assert "Tell me much" not in json.dumps(fake.requests[-1]["messages"])
    assert chat.chip.inner_text() == before
    chat.write("And then?")
    expect(chat.notice).to_contain_text("This message costs")


def test_all_of_it_is_done_with_keys(chat: Chat) -> None:
    asked(chat)
    expect(chat.draft).to_be_focused()
    keys = chat.page.keyboard
    keys.press("Escape")
    expect(chat.notice).to_be_hidden()
    expect(chat.draft).to_have_value("And what now?")
    keys.press("Enter")
    expect(button(chat, "Cancel")).to_be_visible()
    keys.press("Shift+Tab")
    expect(button(chat, "Cancel")).to_be_focused()
    keys.press("Shift+Tab")
    keys.press("Shift+Tab")
    expect(button(chat, "Send it").first).to_be_focused()
    keys.press("Enter")
    expect(chat.receipt_buttons).to_have_count(4)
    expect(chat.draft).to_be_focused()


def test_whoever_changes_the_text_is_asked_about_the_new_one(chat: Chat) -> None:
    asked(chat)
    chat.draft.fill("Another text")
    expect(chat.notice).to_be_hidden()
    chat.draft.press("Enter")
    expect(chat.notice).to_contain_text("This message costs")
    expect(chat.draft).to_have_value("Another text")


def test_a_queued_message_that_would_ask_stops_the_queue(chat: Chat) -> None:
    chat.turns(f"One {SOME}", f"Two {SOME}")
    chat.begin("Tell me much. [[tokens=600;rate=400]]", shows="w3")
    chat.write("Second.")
    chat.write("Third.")
    expect(chat.notice).to_contain_text("This message costs")
    expect(chat.draft).to_have_value("Second.")
    queue = chat.page.locator("#queue")
    expect(queue).to_contain_text("1 message is not sent")
    button(chat, "Send it").first.click()
    expect(chat.receipt_buttons).to_have_count(4)
    queue.get_by_role("button", name="Send it now").click()
    expect(chat.notice).to_contain_text("This message costs")
    expect(chat.draft).to_have_value("Third.")
    expect(queue).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1_280, 400])
def test_price_and_question_fit_every_page(
    visit: Visit, pictures: Path, scheme: str, width: int
) -> None:
    chat = visit(color_scheme=scheme, viewport={"width": width, "height": 860}).open()
    asked(chat)
    page = chat.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for one in (*chat.notice.locator("button").all(), chat.meter, chat.send_button):
        expect(one).to_be_in_viewport(ratio=0.99)
    page.screenshot(path=pictures / f"price-question-{scheme}-{width}.png")
