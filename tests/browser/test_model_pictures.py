"""The pictures of models, tools and files, made by the running application: only where PICTURES
names a folder."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Locator, ViewportSize, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit, provider_environment
from tests.browser.story import restore_others
from tests.browser.test_files import drop
from tests.fakes.openai_server import FakeOpenAI
from tests.files.sample_files import pdf
from tests.running import ROOT, Server

pytestmark = pytest.mark.browser
DESK: ViewportSize = {"width": 1120, "height": 860}
LOW: ViewportSize = {"width": 960, "height": 640}
HIGH: ViewportSize = {"width": 960, "height": 860}
PHONE: ViewportSize = {"width": 400, "height": 860}
LARGEST = 200_000

NOTE = "Keep: the quay is 92 metres long, and its repair may cost 184,000 euros."
NOTE_REPLY = "Noted: a quay of 92 metres, and at most 184,000 euros for its repair."
QUESTION = "What is that for each metre? And what did I learn about high water?"
THOUGHT = (
    "The price of a metre is 184,000 divided by 92. I calculate that instead of guessing. Nothing "
    "about high water was said here, so I look for it in the other conversations."
)
ANSWER = (
    "A metre may cost **2,000 euros**.\n\nHigh water comes twice a day because the moon pulls "
    "hardest on the water nearest to it and least on the water opposite. You asked about that in "
    "*Why tides come twice a day*."
)
CALLS = (
    'calculator:{"expression": "184000 / 92"}|search_history:{"query": "high water", "results": 3}'
)
SURVEY = ("Survey of the old quay", "Length 92 m", "Three slabs have sunk")
FILES_ANSWER = (
    "The survey asks for three things: new slabs at the **third steps**, dredging to 2.5 metres, "
    "and a rail along the whole 92 metres. On the map the steps are the mark in the middle."
)
# What Ollama reports: one model is loaded, the other has a configured window.
OLLAMA_MODELS = ("qwen3:8b", "llama3.2:3b")
OLLAMA = {
    "/api/tags": {"models": [{"name": name, "digest": name} for name in OLLAMA_MODELS]},
    "/api/ps": {"models": [{"name": "qwen3:8b", "context_length": 16_384}]},
    "/api/show": {"capabilities": ["completion", "tools"], "parameters": "num_ctx 8192"},
}


@pytest.fixture(scope="module")
def pictures() -> Path:
    folder = ROOT / os.environ["PICTURES"]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeOpenAI]:
    """A server that lists only the agents' own model."""
    with FakeOpenAI(models=("gpt-6-luna",)) as running:
        yield running


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with FakeOpenAI(models=OLLAMA_MODELS, pages=OLLAMA) as ollama:
        environment = provider_environment(
            fake,
            ANTHROPIC_API_KEY="sk-canary-b",
            GROQ_API_KEY="sk-canary-c",
            OLLAMA_BASE_URL=ollama.base_url,
            LOCAL_SERVERS="on",
        )
        with Server(tmp_path_factory.mktemp("models"), **environment) as running:
            yield running
            running.kill()


def take(chat: Chat, path: Path, *shown: Locator) -> None:
    for place in shown:
        expect(place).to_be_in_viewport(ratio=0.9)
    chat.page.mouse.move(0, 0)
    chat.page.evaluate("document.fonts.ready.then(() => 0)")
    chat.page.screenshot(path=path, animations="disabled", caret="hide")
    assert path.stat().st_size < LARGEST, path


def use_dark_scheme(chat: Chat) -> None:
    chat.page.emulate_media(color_scheme="dark", reduced_motion="reduce")


def directive(text: str, **keys: str) -> str:
    encoded = base64.urlsafe_b64encode(text.encode()).decode()
    return f"[[b64={encoded}{''.join(f';{key}={value}' for key, value in keys.items())}]]"


def set_title(chat: Chat, title: str) -> Chat:
    assert chat.ask("PATCH", f"/conversations/{chat.id}", {"title": title}).ok
    expect(chat.page).to_have_title(f"{title} · Chatsite")
    return chat


def open_tool_conversation(chat: Chat, fake: FakeOpenAI) -> Chat:
    """Open a conversation whose answer used two tools."""
    chat.open("/chat?agent=archivist")
    restore_others(chat)
    fake.script += [NOTE_REPLY, directive("", calls=CALLS, think=THOUGHT), directive(ANSWER)]
    chat.turns(NOTE, QUESTION)
    set_title(chat, "The old quay")
    calls = chat.page.locator(".call summary")
    expect(calls).to_have_count(2)
    chat.page.locator("summary", has_text="Thought").click()
    calls.first.click()
    return chat


def test_an_answer_with_thoughts_and_tools(visit: Visit, fake: FakeOpenAI, pictures: Path) -> None:
    chat = open_tool_conversation(visit(viewport=DESK), fake)
    last = chat.answers.last.locator(".md").last
    last.scroll_into_view_if_needed()
    take(chat, pictures / "tools.png", last)
    use_dark_scheme(chat)
    take(chat, pictures / "tools-dark.png", last)


def coast() -> bytes:
    """A map: land, water, a quay with its steps."""
    image = Image.new("RGB", (640, 420), "#dbe9f4")
    draw = ImageDraw.Draw(image)
    land = [
        (0, 250),
        (120, 210),
        (210, 262),
        (330, 240),
        (430, 290),
        (640, 230),
        (640, 420),
        (0, 420),
    ]
    draw.polygon(land, fill="#e9e1c8", outline="#8f8462", width=3)
    draw.rectangle((200, 232, 440, 256), fill="#7d7468")
    for x in (250, 320, 390):
        draw.rectangle((x, 212, x + 16, 234), fill="#c2543d" if x == 320 else "#a99f90")
    for y in (60, 110, 160):
        for x in range(30 + y % 40, 620, 90):
            draw.arc((x, y, x + 40, y + 18), 200, 340, fill="#7fa6c4", width=3)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def attach_files(chat: Chat, count: int, **files: bytes) -> None:
    drop(chat, **files)
    expect(chat.page.locator(".piece")).to_have_count(count)
    expect(chat.page.get_by_role("progressbar", name="Upload of")).to_have_count(0)


def test_files_of_a_message_and_of_a_draft(visit: Visit, fake: FakeOpenAI, pictures: Path) -> None:
    chat = visit(viewport=LOW).open()
    attach_files(chat, 2, survey_pdf=pdf(*SURVEY), coast_png=coast())
    fake.script.append(FILES_ANSWER)
    chat.say("What has to be done at the quay, and where is that on the map?")
    set_title(chat, "The old quay")
    attach_files(
        chat, 2, prices_csv=b"what,euros\nslabs,61000\n", tide_mp3=b"ID3\x04" + bytes(6) + SOUND
    )
    chat.draft.fill("What does it cost by this list?")
    note = chat.page.locator(".tray-note.quiet")
    expect(note).to_be_visible()
    take(chat, pictures / "files.png", note)
    chat.page.set_viewport_size(PHONE)
    use_dark_scheme(chat)
    take(chat, pictures / "files-phone.png", note)


SOUND = (b"\xff\xfb\x90\x00" + bytes(413)) * 40


def test_the_models_to_choose_from_and_a_failure(
    visit: Visit, fake: FakeOpenAI, pictures: Path
) -> None:
    chat = visit(viewport=LOW).open()
    fake.script.append("Set the table for four, and leave one place for who comes late.")
    chat.say("Four or five may come for dinner. How do I set the table?")
    set_title(chat, "A table for four or five")
    chat.page.set_viewport_size(HIGH)
    chat.page.locator("#model").click()
    expect(chat.popover).to_contain_text("qwen3:8b")
    take(chat, pictures / "models.png", chat.popover)
    use_dark_scheme(chat)
    chat.page.set_viewport_size(PHONE)
    take(chat, pictures / "models-phone.png", chat.popover)
    chat.page.emulate_media(color_scheme="light", reduced_motion="reduce")
    chat.page.set_viewport_size(LOW)
    chat.page.keyboard.press("Escape")

    fake.script.append("[[mode=429;retry_after=40]]")
    chat.write("And if it rains?")
    again = chat.endings.get_by_role("button", name="Try again")
    expect(again).to_be_visible()
    chat.page.locator("#log").evaluate("(log) => { log.scrollTop = log.scrollHeight }")
    take(chat, pictures / "failure.png", again)
