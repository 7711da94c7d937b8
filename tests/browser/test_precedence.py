"""The page shows the order of settings: environment, URL, template, built in."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import REASON, Visit, provider_environment
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def bare(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An agent whose template sets nothing of the history."""
    folder = tmp_path_factory.mktemp("bare")
    template = {"version": "1.0", "agentId": "bare", "name": "Bare", "personality": "You answer."}
    (folder / "agents" / "bare").mkdir(parents=True)
    (folder / "agents" / "bare" / "template.json").write_text(json.dumps(template))
    agents = str(folder / "agents")
    with Server(folder / "var", **provider_environment(fake, AGENTS_DIR=agents)) as running:
        yield running
        running.kill()


def test_the_environment_locks_the_settings_of_a_link(
    visit: Visit, locked: Server, fake: FakeOpenAI
) -> None:
    chat = visit(base_url=locked.url).open("/chat?historyPolicy=all&debug=true")
    expect(chat.fact("Policy")).to_have_text("lastN")
    expect(chat.fact("Length")).to_have_text("2 user messages")
    expect(chat.fact("Source")).to_have_text("environment locked")
    expect(chat.panel.locator(".reason")).to_have_text(REASON)
    expect(chat.setting("policy", "environment").locator(".win")).to_have_text("lastN")
    expect(chat.setting("policy", "URL").locator("s")).to_have_text("all")
    expect(chat.panel.locator(".reasons")).to_contain_text(
        "historyPolicy=all ignored: the environment sets HISTORY_POLICY"
    )
    chat.turns("One.", "Two.", "Three.")
    texts = [one["content"] for one in fake.requests[-1]["messages"] if one["role"] == "user"]
    assert texts == ["Two.", "Three."]


def test_the_chip_of_a_locked_policy_shows_the_lock_and_the_reason(
    visit: Visit, locked: Server
) -> None:
    chat = visit(base_url=locked.url).open("/chat?historyLength=9")
    expect(chat.chip).to_have_text("Your last 2 exchanges set by the administrator")
    chat.chip.click()
    expect(chat.popover).to_contain_text(REASON)
    expect(chat.popover).to_contain_text("Set by HISTORY_POLICY, HISTORY_LENGTH")
    for control in chat.popover.locator("input, .stepper button").all():
        expect(control).to_be_disabled()


def test_a_link_overrules_the_template(visit: Visit) -> None:
    chat = visit().open("/chat?agent=demo&historyPolicy=lastN&historyLength=5&debug=true")
    expect(chat.chip).to_have_text("Your last 5 exchanges")
    expect(chat.fact("Source")).to_have_text("URL")
    expect(chat.setting("length", "URL").locator(".win")).to_have_text("5")
    expect(chat.setting("length", "template").locator("s")).to_have_text("20")


def test_the_template_decides_where_the_link_sets_nothing(visit: Visit) -> None:
    chat = visit().open("/chat?agent=rewriter&debug=true")
    expect(chat.fact("Policy")).to_have_text("none")
    expect(chat.fact("Length")).to_have_text("not used by none")
    expect(chat.fact("Source")).to_have_text("agent")
    expect(chat.setting("policy", "built in").locator("s")).to_have_text("lastN")


def test_the_built_in_values_apply_where_nothing_is_set(visit: Visit, bare: Server) -> None:
    chat = visit(base_url=bare.url).open("/chat?agent=bare&debug=true")
    expect(chat.chip).to_have_text("Your last 20 exchanges")
    expect(chat.fact("Source")).to_have_text("default")
    expect(chat.setting("policy", "template")).to_have_text("–")


def test_a_bad_value_in_a_link_is_passed_over_and_the_page_says_why(visit: Visit) -> None:
    chat = visit().open("/chat?historyPolicy=lastn&historyLength=2.5&debug=true")
    expect(chat.fact("Policy")).to_have_text("lastN")
    expect(chat.fact("Source")).to_have_text("agent")
    reasons = chat.panel.locator(".reasons")
    expect(reasons).to_contain_text("historyPolicy=lastn not valid")
    expect(reasons).to_contain_text("lastN")
    expect(reasons).to_contain_text("historyLength=2.5 not valid")
    chat.chip.click()
    expect(chat.popover).to_contain_text("historyPolicy=lastn")
    expect(chat.popover).to_contain_text("historyLength=2.5")


def test_the_first_page_promises_no_choice_under_a_lock(visit: Visit, locked: Server) -> None:
    chat = visit(base_url=locked.url).open()
    title = "You see what the model remembers. Here it is set by the administrator."
    for width in (1280, 400):
        chat.page.set_viewport_size({"width": width, "height": 800})
        expect(chat.page.get_by_role("heading", name=title)).to_be_in_viewport()
        expect(chat.page.locator(".drawing")).to_be_visible()
    expect(chat.page.locator("#col")).not_to_contain_text("choose what the model remembers")
    expect(chat.page.locator("#col")).not_to_contain_text("Move it whenever you like")
