"""What somebody sees who comes for the first time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit, provider_environment
from tests.browser.test_accessibility import violations
from tests.browser.test_keyboard import walk_to
from tests.browser.watch import OFFLINE, Watch
from tests.fakes.openai_server import FakeOpenAI
from tests.running import Server

pytestmark = pytest.mark.browser
SENTENCE = "You see and choose what the model remembers."
MOVES = "getComputedStyle(document.querySelector('.drawing-line')).animationName"


def test_the_empty_page_says_in_one_sentence_what_is_special(chat: Chat) -> None:
    expect(chat.page.get_by_role("heading", name=SENTENCE)).to_be_in_viewport()
    drawing = chat.page.get_by_role("img", name="A drawing of six messages and a dashed line")
    expect(drawing).to_be_in_viewport()
    # On a phone it is the first thing.
    chat.page.set_viewport_size({"width": 400, "height": 700})
    expect(chat.page.get_by_role("heading", name=SENTENCE)).to_be_in_viewport(ratio=1)
    assert chat.page.locator("#col").inner_text().count("Memo") == 1  # above the greeting
    expect(chat.meter).to_be_hidden()
    # A real model needs no better one.
    expect(chat.page.get_by_role("button", name="See it at work")).to_be_in_viewport(ratio=1)
    expect(chat.page.get_by_role("button", name="Use a better model")).to_have_count(0)
    chat.draft.fill("Hello")
    expect(chat.meter).to_be_visible()


def test_the_drawing_moves_and_stands_still_for_who_wants_no_motion(visit: Visit) -> None:
    moving = visit(reduced_motion="no-preference").open()
    expect(moving.page.locator(".drawing-line")).to_be_visible()
    assert moving.page.evaluate(MOVES) == "drawing-line"
    still = visit(reduced_motion="reduce").open()
    expect(still.page.locator(".drawing-line")).to_be_visible()
    assert still.page.evaluate(MOVES) == "none"


def test_the_greeting_of_a_chat_isnt_marked(chat: Chat) -> None:
    chat.page.get_by_role("button", name="Which city is the capital").click()
    chat.say(chat.draft.input_value())
    greeting = chat.page.locator("article.m.assistant").first
    expect(greeting).to_contain_text("Hello!")
    expect(greeting).not_to_contain_text("Not sent")
    expect(greeting).not_to_have_class(re.compile(r"\bout\b"))


@pytest.fixture(scope="module")
def with_ollama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Without a key an echo stands for the small model; an Ollama runs beside it."""
    pages = {
        "/api/ps": {"models": [{"name": "qwen3:8b", "context_length": 16_384}]},
        "/api/show": {"capabilities": ["completion", "tools"]},
    }
    with FakeOpenAI(models=("qwen3:8b",), pages=pages) as ollama:
        folder = tmp_path_factory.mktemp("ollama")
        with Server(folder, OLLAMA_BASE_URL=ollama.base_url, LOCAL_SERVERS="on") as running:
            yield running
            running.kill()


def test_the_way_to_a_real_model_is_one_click_and_then_one_more(
    visit: Visit, with_ollama: Server
) -> None:
    chat = visit(base_url=with_ollama.url).open()
    chat.page.locator(".intro").get_by_role("button", name="Use a better model").click()
    window = chat.page.get_by_role("dialog", name="Use a better model")
    expect(window).to_contain_text("OPENAI_API_KEY=")
    expect(window).to_contain_text("CHAT_MODEL_PATH=")
    expect(window.get_by_role("textbox")).to_have_count(0)  # nobody types a key into a page
    window.get_by_role("button", name="Use qwen3:8b").click()
    expect(window).to_be_hidden()
    expect(chat.page.locator("#model")).to_have_text("qwen3:8b")
    expect(chat.say("Hello there")).to_be_visible()


def test_the_way_to_a_real_model_is_still_there_later(visit: Visit, with_ollama: Server) -> None:
    chat = visit(base_url=with_ollama.url).open().turns("Hello")
    chat.page.locator("#model-open").click()
    chat.page.get_by_role("dialog", name="Which model answers").get_by_role(
        "button", name="Use a better model"
    ).click()
    expect(chat.page.get_by_role("dialog", name="Use a better model")).to_be_visible()
    chat.page.keyboard.press("Escape")
    expect(chat.page.get_by_role("dialog", name="Use a better model")).to_be_hidden()


@pytest.mark.thorough
def test_the_window_says_when_the_server_was_started_with_a_better_model(
    visit: Visit, fake: FakeOpenAI, watch: Watch, tmp_path: Path
) -> None:
    watch.allow(OFFLINE)
    with Server(tmp_path) as server:
        chat = visit(base_url=server.url).open().turns("What is the capital of Australia?")
        chat.page.locator("#model-open").click()
        chat.popover.get_by_role("button", name="Use a better model").click()
        window = chat.page.get_by_role("dialog")
        expect(window).to_contain_text("Stop the server (Ctrl+C in its terminal)")
        server.stop()
        server.environment = {**server.environment, **provider_environment(fake)}
        server.start()
        expect(window).to_contain_text("gpt-6-luna answers now")
        expect(window).not_to_contain_text("OPENAI_API_KEY")
        assert violations(chat.page) == []
        window.get_by_role("button", name="Close").click()
        expect(chat.page.locator("#model")).to_have_text("gpt-6-luna")
        chat.answers.last.get_by_role("button", name="Try again").click()
        expect(chat.answers.last.locator(".versions-all")).to_have_text("2 / 2")


def test_a_sample_shows_a_line_a_pin_and_with_one_press_a_receipt(chat: Chat) -> None:
    chat.page.get_by_role("button", name="See it at work").click()
    expect(chat.horizon).to_contain_text("exchanges")
    expect(chat.users).to_have_count(4)
    expect(chat.users.first).to_contain_text("Heron")
    expect(chat.users.first).to_contain_text("Still sent: its turn is pinned")
    expect(chat.page.locator("#col .m.user.out")).to_have_count(1)
    expect(chat.row("Sample: what the model remembers")).to_be_visible()
    expect(chat.draft).to_have_value("What is my boat called, and in which month do I paint her?")
    chat.page.locator("#send").click()
    expect(chat.receipt_buttons).to_have_count(1)
    chat.menu("Sample").get_by_role("button", name="Delete").click()
    expect(chat.conversations).to_have_count(0)


def test_where_nothing_can_be_chosen_no_sample_promises_it(visit: Visit, locked: Server) -> None:
    chat = visit(base_url=locked.url).open()
    expect(chat.page.locator(".intro-title")).to_be_visible()
    expect(chat.page.get_by_role("button", name="See it at work")).to_have_count(0)


def test_a_language_is_chosen_and_a_sample_opened_by_keys_alone(chat: Chat) -> None:
    page, keys = chat.page, chat.page.keyboard
    page.locator("#me-open").press("Enter")
    walk_to(page, "Language")
    keys.type("Deu")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    chat.ready()
    chat.page.locator(".skip").focus()
    walk_to(page, page.locator(".intro .sample").inner_text())
    keys.press("Enter")
    expect(chat.horizon).to_be_visible()
