"""A broken template stops no other agent; the page says what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit, provider_environment
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser
GOOD = {"version": "1.0", "agentId": "good", "name": "Good", "personality": "You answer."}
STAFF = ("ada", "correct horse battery")
BROKEN = {"version": "1.0", "agentId": "bad", "name": "Bad", "personality": 5}


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("broken")
    for slug, template in (("good", GOOD), ("bad", BROKEN)):
        (folder / "agents" / slug).mkdir(parents=True)
        (folder / "agents" / slug / "template.json").write_text(json.dumps(template))
    agents = str(folder / "agents")
    with Server(folder / "var", **provider_environment(fake, AGENTS_DIR=agents)) as running:
        running.add_user(*STAFF)
        yield running
        running.kill()


def as_staff(chat: Chat) -> Chat:
    chat.page.goto("/accounts/login/")
    chat.page.get_by_label("Username").fill(STAFF[0])
    chat.page.get_by_label("Password").fill(STAFF[1])
    chat.page.get_by_role("button", name="Sign in").click()
    return chat.ready()


def test_staff_see_a_broken_agent_with_its_file_its_key_and_the_reason(visit: Visit) -> None:
    chat = as_staff(visit())
    chat.page.locator("#agent-open").click()
    broken = chat.popover.locator(".agent-broken")
    expect(broken).to_contain_text("bad/template.json")
    expect(broken.locator("code").last).to_have_text("personality")
    expect(broken).to_contain_text("text")
    expect(chat.popover.get_by_role("link")).to_have_count(1)
    chat.page.keyboard.press("Escape")
    chat.say("The good one answers.")


def test_the_address_of_a_broken_agent_says_why_it_cannot_answer(visit: Visit) -> None:
    chat = as_staff(visit())
    chat.page.goto("/chat?agent=bad")
    expect(chat.banner).to_contain_text("This agent can't answer now")
    expect(chat.banner).to_contain_text("personality")
    chat.draft.press("Enter")
    expect(chat.send_button).to_be_disabled()


def test_a_guest_sees_no_file_of_the_server(visit: Visit) -> None:
    chat = visit().open()
    chat.page.locator("#agent-open").click()
    expect(chat.popover.locator(".agent-broken")).to_contain_text("a file of it is broken")
    chat.page.goto("/chat?agent=bad")
    expect(chat.banner).to_have_text(
        "This agent can't answer now: a file of it is broken. Its administrator finds the reason "
        "here after signing in, or with `manage.py check`."
    )
    assert "bad/template.json" not in chat.page.content()
