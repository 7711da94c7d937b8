"""Links into the page: what they fill in and choose, and what is said where they ask in vain."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser
RARELY = pytest.mark.thorough


def line(chat: Chat) -> Locator:
    return chat.page.locator("#link-line")


def test_a_text_in_the_link_fills_the_box_and_is_not_sent(visit: Visit, fake: FakeOpenAI) -> None:
    asked = len(fake.requests)
    chat = visit().open(f"/chat?q={quote('What is a quay?')}&submit=true")
    expect(chat.draft).to_have_value("What is a quay?")
    expect(chat.page.locator("article.m.user")).to_have_count(0)
    assert "q=" not in chat.page.url
    assert len(fake.requests) == asked
    chat.reload()
    expect(chat.draft).to_have_value("What is a quay?")  # the draft, kept in the tab


def test_a_draft_that_is_there_is_kept_before_the_links_text(visit: Visit) -> None:
    chat = visit().open()
    chat.draft.fill("My own words")
    chat.open(f"/chat?q={quote('The link says')}")
    expect(chat.draft).to_have_value("My own words\n\nThe link says")


def test_a_usable_model_of_the_link_is_chosen(visit: Visit, fake: FakeOpenAI) -> None:
    chat = visit().open("/chat?model=openai:gpt-6-luna")
    expect(chat.page.locator("#model")).to_have_text("gpt-6-luna")
    expect(line(chat)).to_be_hidden()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("model=gpt-99", "Your link asked for the model “gpt-99”, which isn't offered here."),
        (
            "temporary-talk=true",
            "Your link asked for “temporary-talk”. That isn't known here and changes nothing.",
        ),
        ("historyPolicy=lastn", "Your link asked for historyPolicy=lastn"),
        # What a link's parts mean is tested without a browser (tests/page/link.test.js).
        pytest.param(
            "agent=nobody",
            "Your link asked for the agent “nobody”, which isn't here.",
            marks=RARELY,
        ),
        pytest.param(
            "Model=a&hints=b",
            "Your link asked for “Model”, “hints”. That isn't known here",
            marks=RARELY,
        ),
        pytest.param(
            "utm_source=mail&no_training=1&fbclid=2",
            "Your link asked for “no_training”. That isn't",
            marks=RARELY,
        ),
        pytest.param(
            "historyPolicy=summary", "Your link asked for historyPolicy=summary", marks=RARELY
        ),
        pytest.param(
            "historyLength=12abc", "Your link asked for historyLength=12abc", marks=RARELY
        ),
    ],
)
def test_what_a_link_asks_for_in_vain_is_said_under_the_header(
    visit: Visit, query: str, said: str
) -> None:
    chat = visit().open(f"/chat?{query}")
    expect(line(chat)).to_contain_text(said)
    expect(chat.chip).to_have_text("Your last 20 exchanges")
    expect(chat.say("Hello")).to_be_visible()  # the page works all the same
    line(chat).get_by_role("button", name="Dismiss").click()
    expect(line(chat)).to_be_hidden()


def test_several_refusals_stand_in_one_line_and_what_applies_is_named(visit: Visit) -> None:
    chat = visit().open("/chat?historyPolicy=lastn&historyLength=abc&historyTokens=0")
    expect(line(chat).locator("p")).to_have_count(3)
    expect(line(chat)).to_contain_text("What applies: your last 20 exchanges.")


def test_a_link_that_is_followed_needs_no_words(visit: Visit) -> None:
    chat = visit().open("/chat?agent=demo&historyPolicy=lastN&historyLength=5&debug=true")
    expect(chat.chip).to_contain_text("Your last 5 exchanges")
    expect(line(chat)).to_be_hidden()


def test_a_link_against_the_lock_says_who_decides(visit: Visit, locked: Server) -> None:
    chat = visit(base_url=locked.url).open("/chat?historyPolicy=all")
    expect(line(chat)).to_contain_text("Your link asked for historyPolicy=all")
    expect(line(chat)).to_contain_text("HISTORY_POLICY")


def test_all_that_a_link_said_survives_signing_up(visit: Visit) -> None:
    query = f"agent=archivist&historyPolicy=lastN&historyLength=7&debug=true&q={quote('Keep this')}"
    chat = visit().open(f"/chat?{query}")
    expect(chat.draft).to_have_value("Keep this")
    chat.page.locator("#me-open").click()
    chat.page.get_by_role("link", name="Create an account").click()
    chat.page.get_by_label("Username").fill("linked")
    chat.page.get_by_label("Password", exact=True).fill("long-enough-7")
    chat.page.get_by_label("Password confirmation").fill("long-enough-7")
    chat.page.get_by_role("button", name="Create an account").click()
    chat.ready()
    expect(chat.draft).to_have_value("Keep this")
    expect(chat.chip).to_contain_text("Your last 7 exchanges")
    expect(chat.page.locator("#panel")).to_be_visible()
    expect(chat.page.locator("#agent-name")).to_have_text("Archivist")
