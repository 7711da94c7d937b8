"""A person makes an agent in the page, tries it, changes it, and takes an older version again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit
from tests.browser.test_keyboard import walk_to
from tests.browser.watch import Watch, failed_request
from tests.fakes.openai_server import FakeOpenAI

pytestmark = pytest.mark.browser
GERMAN = "Answer briefly, in German."


def form_of(chat: Chat) -> Locator:
    return chat.page.locator("#agent-form")


def new_agent(chat: Chat) -> Locator:
    chat.page.locator("#agent-open").click()
    chat.page.get_by_role("button", name="New agent").click()
    form = form_of(chat)
    expect(form.get_by_label("Name")).to_be_focused()
    return form


def saved_file(page: Page, folder: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as template.json").click()
    assert download.value.suggested_filename == "template.json"
    path = folder / "template.json"
    download.value.save_as(path)
    return path


def system_of(fake: FakeOpenAI) -> str:
    text: str = fake.requests[-1]["messages"][0]["content"]
    return text


def test_an_agent_is_made_by_mouse_tried_changed_and_taken_back(
    visit: Visit, fake: FakeOpenAI, tmp_path: Path
) -> None:
    chat = visit().open()
    page = chat.page
    page.evaluate(
        "addEventListener('click', () => (window.clicks = (window.clicks ?? 0) + 1), true)"
    )
    form = new_agent(chat)
    form.get_by_label("Name").click()
    page.keyboard.type("Kurz")
    form.get_by_label("Instructions").click()
    page.keyboard.type(GERMAN)
    form.get_by_role("button", name="Try it").click()
    expect(page.locator("#agent-name")).to_have_text("Kurz")
    expect(form).to_be_visible()
    chat.say("Ahoy.")
    assert system_of(fake) == GERMAN
    assert page.evaluate("window.clicks") <= 12
    form.get_by_label("Blue").check(force=True)
    form.get_by_role("button", name="Try it").click()
    expect(chat.users).to_have_count(0)
    chat.say("In blue.")
    face = chat.answers.last.locator(".face")
    expect(face).to_have_text("K")
    expect(face).to_have_class("face mark-blue")
    form.get_by_label("Instructions").fill("Answer in Plattdeutsch.")
    form.get_by_label("An emoji").fill("🦊")
    form.get_by_role("button", name="Save", exact=True).click()
    expect(form).to_be_hidden()
    expect(page.locator("#agent-name")).to_have_text("🦊Kurz")
    chat.say("And now?")
    assert system_of(fake) == "Answer in Plattdeutsch."
    page.locator("#agent-open").click()
    expect(chat.popover.get_by_role("heading", name="Yours")).to_be_visible()
    chat.popover.get_by_role("button", name="Edit Kurz").click()
    file = saved_file(page, tmp_path)
    assert json.loads(file.read_text())["personality"] == "Answer in Plattdeutsch."
    form.get_by_text("Versions", exact=True).click()
    form.get_by_role("button", name="Use this again").last.click()
    expect(form.get_by_label("Instructions")).to_have_value(GERMAN)
    form.get_by_role("button", name="Close").click()
    chat.say("Once more.")
    assert system_of(fake) == GERMAN
    # The file that was saved makes another agent.
    form = new_agent(chat)
    file.write_text(json.dumps(json.loads(file.read_text()) | {"orchestration": {"steps": 1}}))
    page.locator("#agent-file").set_input_files(file)
    expect(form.get_by_label("Instructions")).to_have_value("Answer in Plattdeutsch.")
    expect(form.get_by_text("(orchestration)")).to_be_visible()
    form.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Discard").click()
    expect(form).to_be_hidden()


def test_what_is_wrong_stands_at_its_field(visit: Visit, watch: Watch) -> None:
    watch.allow(failed_request(400))
    chat = visit().open()
    form = new_agent(chat)
    form.get_by_role("button", name="Save", exact=True).click()
    name = form.get_by_label("Name")
    expect(name).to_have_attribute("aria-invalid", "true")
    expect(name).to_have_accessible_description("Is empty; people pick an agent by its name")
    expect(name).to_be_focused()


def test_everything_is_reached_with_the_keyboard(visit: Visit) -> None:
    chat = visit(viewport={"width": 400, "height": 800}).open()
    page = chat.page
    page.locator("#agent-open").focus()
    page.keyboard.press("Enter")
    new = page.get_by_role("button", name="New agent")
    for _ in range(20):
        page.keyboard.press("Tab")
        if new.evaluate("one => one === document.activeElement"):
            break
    page.keyboard.press("Enter")
    form = form_of(chat)
    expect(form.get_by_label("Name")).to_be_focused()
    page.keyboard.type("Keys")
    for part in form.locator("summary").all():
        if part.is_visible():
            part.press("Enter")
    form.get_by_label("Name").press("Enter")
    expect(form).to_be_hidden()
    expect(page.locator("#agent-name")).to_have_text("Keys")
    page.locator("#agent-open").click()
    chat.popover.get_by_role("button", name="Edit Keys").click()
    expect(form).to_be_visible()
    page.keyboard.press("Escape")
    expect(form).to_be_hidden()


def test_a_deleted_agent_comes_back_with_undo(visit: Visit) -> None:
    chat = visit().open()
    form = new_agent(chat)
    form.get_by_label("Name").fill("Brief")
    form.get_by_role("button", name="Save", exact=True).click()
    expect(form).to_be_hidden()
    chat.page.locator("#agent-open").click()
    chat.popover.get_by_role("button", name="Edit Brief").click()
    form.get_by_role("button", name="Delete agent").click()
    expect(form).to_be_hidden()
    chat.page.locator("#agent-open").click()
    expect(chat.popover.get_by_text("Brief")).to_have_count(0)
    chat.page.keyboard.press("Escape")
    chat.page.get_by_role("button", name="Undo").click()
    chat.page.locator("#agent-open").click()
    expect(chat.popover.get_by_role("link", name="Brief")).to_be_visible()


def test_own_instructions_are_sent_and_have_their_part_in_the_panel(
    visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit().open("/chat?debug=true")
    page = chat.page
    page.locator("#me-open").click()
    page.get_by_role("button", name="Your instructions").click()
    page.get_by_label("What all agents should know or do").fill("Call me Captain.")
    page.locator("#own-instructions").get_by_role("button", name="Save").click()
    expect(page.locator("#panel")).to_contain_text("your instructions")
    chat.say("Who am I?")
    assert system_of(fake).endswith("Call me Captain.")


def test_temperature_and_length_are_chosen_for_a_chat_and_kept(
    visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit().open()
    page = chat.page
    page.locator("#model-open").click()
    chat.popover.get_by_role("radio", name="fake-model").press("Space")
    page.get_by_text("Answers in this chat").click()
    page.get_by_label("as the agent has it").uncheck()
    page.get_by_label("Temperature").fill("1.5")
    page.get_by_label("Longest reply, in tokens").fill("64")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    chat.reload()
    chat.say("Ahoy.")
    sent = fake.requests[-1]
    assert sent["temperature"] == 1.5
    assert 64 in (sent.get("max_tokens"), sent.get("max_completion_tokens"))
    chat.reload()
    chat.say("Still?")
    assert fake.requests[-1]["temperature"] == 1.5
    page.locator("#model-open").click()
    page.get_by_label("as the agent has it").check()
    page.keyboard.press("Escape")
    chat.say("And now?")
    assert fake.requests[-1]["temperature"] == 0.5


def test_instructions_and_tuning_are_reached_by_keys_alone(chat: Chat) -> None:
    page, keys = chat.page, chat.page.keyboard
    page.locator("#me-open").press("Enter")
    walk_to(page, "Your instructions")
    keys.press("Enter")
    expect(page.get_by_label("What all agents should know or do")).to_be_focused()
    keys.type("Call me Captain.")
    walk_to(page, "Save")
    keys.press("Enter")
    expect(chat.toasts).to_contain_text("Every agent gets them")
    expect(page.locator("#me-open")).to_be_focused()
    page.locator("#model-open").press("Enter")
    expect(chat.popover.get_by_role("radio", name="fake-model")).to_be_visible()
    walk_to(page, "Answers in this chat")
    keys.press("Enter")
    walk_to(page, "as the agent has it")
    keys.press("Space")
    walk_to(page, "Temperature")
    keys.press("End")
    expect(page.locator("#tuning-shown")).to_have_text("2")
    keys.press("Escape")
    expect(page.locator("#model-open")).to_be_focused()
