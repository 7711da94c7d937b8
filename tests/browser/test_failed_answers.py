"""An answer that failed: one calm box says what happened, what was kept and what can be done."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit, provider_environment
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser


def test_a_failed_message_has_one_box_with_one_button(chat: Chat) -> None:
    chat.write("Is it there? [[mode=401]]")
    expect(chat.endings).to_have_count(1)
    expect(chat.endings).to_contain_text("The provider rejected this site's API key.")
    expect(chat.endings).to_contain_text("What you wrote is kept.")
    expect(chat.endings.locator(".plain-button")).to_have_text(["Try again"])
    expect(chat.page.locator("#col .mark:visible")).to_have_count(0)
    chat.endings.get_by_role("button", name="Edit and resend").click()
    expect(chat.draft).to_have_value("Is it there? [[mode=401]]")


def test_an_answer_that_broke_off_is_told_once_under_what_arrived(chat: Chat) -> None:
    chat.write("It breaks. [[mode=cut;at=7]]")
    expect(chat.endings).to_have_count(1)
    expect(chat.answers.last.locator(".ending:visible")).to_contain_text("The connection broke")
    expect(chat.users.locator(".ending:visible")).to_have_count(0)
    chat.reload()
    expect(chat.answers.last.locator(".ending:visible")).to_contain_text("The connection broke")


def test_older_failures_are_one_grey_line_each(chat: Chat) -> None:
    for number in range(3):
        chat.write(f"Is it there? {number} [[mode=401]]")
        expect(chat.users).to_have_count(number + 1)
        expect(chat.users.last.locator(".ending.bad")).to_be_visible()
    expect(chat.page.locator("#col .ending.bad:visible")).to_have_count(1)
    for message in (chat.users.first, chat.users.nth(1)):
        expect(message.locator(".mark:visible, .ending:visible")).to_have_count(1)


def test_a_wait_is_counted_down_and_then_the_button_is_there(visit: Visit) -> None:
    chat = visit()
    chat.page.clock.install()
    chat.open()
    chat.write("Too many. [[mode=429;retry_after=40]]")
    button = chat.endings.locator("[data-choice=again]")
    expect(button).to_have_text(re.compile(r"Try again in (40|39|38|37) s"))
    expect(button).to_be_disabled()
    chat.page.clock.run_for(41_000)
    expect(button).to_have_text("Try again")
    expect(button).to_be_enabled()
    expect(chat.page.locator("#status")).to_have_text("You can try again now.")


def test_no_wait_of_before_stands_there_after_a_reload(chat: Chat) -> None:
    chat.write("Too many. [[mode=429;retry_after=40]]")
    expect(chat.endings.locator("[data-choice=again]")).to_be_disabled()
    chat.reload()
    expect(chat.endings.locator("[data-choice=again]")).to_have_text("Try again")
    expect(chat.endings.locator("[data-choice=again]")).to_be_enabled()


@pytest.fixture(scope="module")
def with_ollama(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with FakeOpenAI(models=("qwen3:8b",)) as ollama:
        environment = provider_environment(
            fake, OLLAMA_BASE_URL=ollama.base_url, LOCAL_SERVERS="on"
        )
        with Server(tmp_path_factory.mktemp("two-models"), **environment) as running:
            yield running
            running.kill()


def test_another_model_is_offered_and_answers(
    visit: Visit, fake: FakeOpenAI, with_ollama: Server
) -> None:
    chat = visit(base_url=with_ollama.url).open()
    fake.script.append("[[mode=401]]")
    chat.write("Is it there?")
    chat.endings.get_by_role("button", name="Answer with qwen3:8b instead").click()
    expect(chat.receipt_buttons).to_have_count(1)
    expect(chat.endings).to_have_count(0)
    expect(chat.page.locator("#model")).to_have_text("gpt-6-luna")  # for this answer alone


def test_after_a_failed_first_question_nothing_looks_forgotten(chat: Chat) -> None:
    chat.write("Is it there? [[mode=401]]")
    expect(chat.endings).to_have_count(1)
    expect(chat.meter).to_contain_text("nothing earlier to send")
    expect(chat.horizon).to_have_count(0)
    expect(chat.page.get_by_role("button", name="Why did it forget?")).to_have_count(0)
    chat.say("And now?")
    expect(chat.meter).to_contain_text("1 exchange")
    expect(chat.horizon).to_have_count(0)
    expect(chat.page.get_by_role("button", name="Why did it forget?")).to_have_count(0)


@pytest.mark.parametrize(
    ("mode", "words"),
    [("cut;at=7", "The connection broke here."), ("malformed;at=7", "couldn't be read further.")],
)
def test_an_older_broken_answer_advises_nothing_that_is_gone(
    chat: Chat, mode: str, words: str
) -> None:
    chat.write(f"It breaks. [[mode={mode}]]")
    expect(chat.answers.last.locator(".ending:visible")).to_contain_text("Continue")
    chat.say("Another question.")
    ending = chat.answers.nth(1).locator(".ending:visible")
    expect(ending).to_contain_text(words)
    expect(ending).to_contain_text("The part received is kept.")
    expect(ending).not_to_contain_text("Continue")
    expect(ending).not_to_contain_text("try again")
