"""Each part of the page, state after state: in light and dark, wide, at 400 pixels and at 200 %
axe finds no serious fault, nothing is cut off, and whatever can be pressed is reached."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit
from tests.browser.looks import SIZES, faults
from tests.browser.test_accessibility import RICH
from tests.browser.test_importing import line_of
from tests.browser.test_own_agents import new_agent
from tests.browser.test_preview import fenced, opened
from tests.browser.test_sharing import ada, make, stranger
from tests.browser.test_sidebar import restore
from tests.browser.test_sidebar_groups import NAMES, fold, foot
from tests.browser.test_slash import PROMPT, listed, type_text
from tests.browser.test_temporary import SAID, line, switch
from tests.browser.watch import Watch, failed_request
from tests.conversations.imports.exports import tides

__all__ = ["ada"]
pytestmark = pytest.mark.browser
FOLDER = "Harbour at low water in a long cold spring"
# Opens a part's states one after another, and names each once it is there.
Part = Callable[[Chat], Iterator[str]]


def check(part: Part, chat: Chat, *sizes: str, axe: bool = True) -> None:
    """Opens each state of a part and collects what is wrong, so that one run names all of it."""
    found: list[str] = []
    for state in part(chat):
        found += faults(chat.page, state, sizes or tuple(SIZES), axe=axe)
    assert found == [], "\n".join(["", *found])


def show_sidebar(chat: Chat) -> None:
    """On a phone it is a drawer."""
    if chat.page.locator("#side-show").is_visible():
        chat.page.locator("#side-show").click()


def sidebar(chat: Chat) -> Iterator[str]:
    page = chat.page
    ids = []
    for name in NAMES:
        chat.open("/chat").say(name)
        ids.append(chat.id)
    for change in ({"pinned": True}, {"folder": FOLDER}):
        assert chat.ask("POST", "/conversations/changes", {"ids": [ids.pop()], "set": change}).ok
    chat.reload()
    show_sidebar(chat)
    fold(chat, FOLDER).click()
    expect(chat.conversations).to_have_count(4)
    yield "pins and a folder"
    chat.menu("Tides")
    yield "a chat's menu"
    chat.popover.get_by_role("button", name="Share or export…").click()
    yield "its ways to share and to export"
    page.keyboard.press("Escape")
    foot(chat, "Select").click()
    chat.row("Tides").locator("a").click()
    expect(page.locator(".convs-foot")).to_contain_text("1 selected")
    yield "several at once"
    foot(chat, "Move").click()
    expect(chat.popover.get_by_role("button", name="Harbour")).to_be_visible()
    yield "folders to move to"
    page.keyboard.press("Escape")
    foot(chat, "Archive").click()
    expect(chat.toasts).to_contain_text("Archived")
    yield "the way back"
    foot(chat, "Archived").click()
    expect(chat.conversations).to_have_text(["Tides"])
    yield "the archive"
    foot(chat, "Back to the list").click()
    page.locator("#bookmarks").click()
    yield "no bookmarks"
    page.locator("#me-open").click()
    yield "the person's menu"
    page.keyboard.press("Escape")
    page.locator("#bookmarks").click()
    page.locator("#find").fill("quays")
    expect(page.locator(".hit mark").first).to_be_visible()
    page.get_by_role("button", name="Filters", exact=True).click()
    page.get_by_role("combobox", name="Agent", exact=True).select_option("demo")
    expect(page.get_by_role("button", name="Remove the filter Memo")).to_be_visible()
    expect(page.locator(".hit mark").first).to_be_visible()
    yield "a search with filters"
    page.keyboard.press("Control+KeyK")
    page.keyboard.type("quays")
    expect(page.locator(".palette-row mark").first).to_be_visible()
    yield "the palette"


@pytest.mark.parametrize("size", SIZES)
def test_the_sidebar(size: str, visit: Visit) -> None:
    """A drawer and its menus don't outlast another width."""
    check(sidebar, visit(viewport=SIZES[size]).open(), size)


def own_agents(chat: Chat) -> Iterator[str]:
    page = chat.page
    form = new_agent(chat)
    yield "an empty form"
    form.get_by_role("button", name="Save", exact=True).click()
    expect(form.get_by_label("Name")).to_have_attribute("aria-invalid", "true")
    form.get_by_label("Name").fill("Harbourmaster of the northern quays and of their bollards")
    form.get_by_label("Instructions").fill("Answer briefly.")
    form.get_by_role("button", name="Save", exact=True).click()
    expect(form).to_be_hidden()
    page.locator("#agent-open").click()
    expect(chat.popover.get_by_role("heading", name="Yours")).to_be_visible()
    yield "the list of agents"
    edit = chat.popover.get_by_role("button", name=re.compile("^Edit Harbourmaster"))
    edit.click()
    form.get_by_label("Instructions").fill("Answer in Plattdeutsch.")
    form.get_by_role("button", name="Save", exact=True).click()
    expect(form).to_be_hidden()
    page.locator("#agent-open").click()
    edit.click()
    expect(form).to_be_visible()
    form.evaluate("(it) => it.querySelectorAll('details').forEach((one) => (one.open = true))")
    expect(form.get_by_role("button", name="Use this again")).to_be_visible()
    yield "a form with everything open"
    form.get_by_label("Name").fill("Other")
    form.get_by_role("button", name="Close").click()
    expect(page.get_by_role("button", name="Discard")).to_be_visible()
    yield "a question"
    page.get_by_role("button", name="Discard").click()
    page.locator("#me-open").click()
    page.get_by_role("button", name="Your instructions").click()
    page.get_by_label("What all agents should know or do").fill("Call me Captain.")
    yield "own instructions"
    page.locator("#own-instructions").get_by_role("button", name="Save").click()
    page.locator("#model-open").click()
    chat.popover.get_by_role("radio", name="fake-model").press("Space")
    page.get_by_text("Answers in this chat").click()
    page.get_by_label("as the agent has it").uncheck()
    page.get_by_label("Longest reply, in tokens").fill("0")
    page.keyboard.press("Enter")
    expect(page.locator("#tuning-note")).to_contain_text("Enter a whole number")
    yield "models and tuning"


def test_agents_of_ones_own(visit: Visit, watch: Watch) -> None:
    watch.allow(failed_request(400))
    check(own_agents, visit().open())


@pytest.mark.parametrize("sizes", [("wide",), ("narrow", "zoomed")], ids="-".join)
def test_bringing_along(sizes: tuple[str, ...], visit: Visit, watch: Watch, tmp_path: Path) -> None:
    watch.allow(failed_request(400))
    file, other = tmp_path / "two.json", tmp_path / "other.json"
    file.write_text(json.dumps([tides("1", "One"), tides("2", "Two")]))
    other.write_text('{"hello": "world"}')

    def bringing_along(chat: Chat) -> Iterator[str]:
        show_sidebar(chat)
        restore(chat, other)
        expect(chat.toasts).to_contain_text("holds no chats")
        yield "a file that is refused"
        restore(chat, file)
        report = chat.page.get_by_role("dialog", name="Chats from ChatGPT")
        expect(report).to_be_visible(timeout=30_000)
        yield "the report"
        report.get_by_role("button", name="Close").click()
        chat.reload()
        show_sidebar(chat)
        expect(line_of(chat)).to_contain_text("Imported 2 chats from ChatGPT")
        yield "the line of an import"
        line_of(chat).get_by_role("button", name="Report").click()
        report.get_by_role("button", name="Open this chat").click()
        expect(chat.users.first).to_be_visible()
        yield "what came along"

    check(bringing_along, visit(viewport=SIZES[sizes[0]]).open(), *sizes)


def temporary(chat: Chat) -> Iterator[str]:
    switch(chat).click()
    expect(line(chat)).to_contain_text(SAID)
    yield "an empty one"
    chat.say("Keep this one")
    yield "one with messages"
    line(chat).get_by_role("button", name="Keep this chat").click()
    expect(line(chat)).to_be_hidden()
    expect(chat.row("Keep this one")).to_be_visible()
    yield "one that is kept"


def test_a_temporary_chat(visit: Visit) -> None:
    check(temporary, visit().open())


def test_handing_on(ada: Chat, visit: Visit, watch: Watch) -> None:
    ada.open("/chat?historyPolicy=none")
    ada.turns("Tell me of tides.", f"And where? {answer(RICH)}")
    addresses = []

    def the_window(chat: Chat) -> Iterator[str]:
        chat.menu("Tell me").get_by_role("button", name="Share or export…").click()
        chat.popover.get_by_role("button", name="Share…").click()
        window = chat.page.get_by_role("dialog", name="Share this chat")
        expect(window.get_by_role("button", name="Copy a new link")).to_be_visible()
        yield "no link yet"
        ticks = ("What the model saw for each answer", "Tools and thoughts")
        addresses.append(make(chat, "Tell me", *ticks))
        window.get_by_text("Change").click()
        yield "a link"
        window.get_by_role("button", name="Take back").click()
        expect(chat.page.get_by_role("dialog", name="Take this link back?")).to_be_visible()
        yield "a question"

    check(the_window, ada)
    # axe is a script: this visit passes over the page's policy.
    page = stranger(visit, watch, addresses[0], bypass_csp=True)
    summary = page.get_by_text("What the model saw").first
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Messages sent").first).to_be_visible()
    expect(page.get_by_text("Not sent for the last answer")).to_have_count(3)
    expect(page.get_by_text("was written without what is above")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_count(1)
    expect(page.get_by_role("region", name="Table")).to_be_visible()
    found = faults(page, "the shared page")
    watch.allow(failed_request(404))
    page.goto("/shared/" + "x" * 48)
    assert found + faults(page, "a link that has ended") == []


def slash(chat: Chat) -> Iterator[str]:
    page, keyboard = chat.page, chat.page.keyboard
    type_text(chat, "/")
    expect(listed(chat).first).to_be_visible()
    yield "the list"
    keyboard.type("prom")
    expect(listed(chat)).to_have_count(1)
    keyboard.press("Enter")
    window = page.locator("#prompts")
    expect(window.get_by_role("button", name="New prompt")).to_be_focused()
    yield "no prompts yet"
    window.get_by_role("button", name="New prompt").click()
    window.get_by_label("Name").fill("explain it")
    window.get_by_label("Text").fill(PROMPT)
    yield "a prompt being written"
    window.get_by_role("button", name="Save").click()
    expect(window).to_contain_text("Saved. Call it with /explain it.")
    yield "the prompts"
    keyboard.press("Escape")
    type_text(chat, "/expl")
    expect(listed(chat)).to_have_count(1)
    keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="/explain it").get_by_label("topic")).to_be_focused()
    yield "its blanks"


def test_the_slash_list_and_own_prompts(visit: Visit) -> None:
    check(slash, visit().open())


def look(chat: Chat) -> Iterator[str]:
    page = chat.page
    yield "the first page"
    page.get_by_role("button", name="See it at work").click()
    expect(chat.horizon).to_be_visible()
    chat.say(answer(RICH))
    yield "the sample chat, with an answer of every kind"
    chat.chip.click()
    expect(chat.popover).to_be_visible()
    yield "memories"
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Period")
    expect(chat.panel.locator("[data-section=facts]")).to_be_visible()
    yield "the panel"
    page.keyboard.press("Control+Period")
    chat.answers.last.hover()
    chat.answers.last.get_by_title("More").click()
    yield "an answer's menu"
    chat.popover.get_by_role("button", name="Delete").click()
    expect(chat.toasts).to_contain_text("Undo")
    yield "the way back"
    page.keyboard.press("Control+Slash")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    yield "the shortcuts"


def test_the_look(visit: Visit) -> None:
    check(look, visit().open())


@pytest.mark.parametrize(
    ("language", "sizes"),
    [("de", ("wide",)), *((one, ("narrow", "zoomed")) for one in ("de", "fr", "es"))],
)
def test_a_page_in_another_language(language: str, sizes: tuple[str, ...], visit: Visit) -> None:
    """Their words are longer; what axe looks at is the same in all of them."""

    def translated(chat: Chat) -> Iterator[str]:
        expect(chat.page.locator("html")).to_have_attribute("lang", language)
        yield "the first page"
        chat.page.locator(".intro .sample").click()
        expect(chat.horizon).to_be_visible()
        yield "the sample chat"
        for button in ("#chip", "#model-open", "#agent-open"):
            chat.page.locator(button).click()
            expect(chat.popover).to_be_visible()
            yield button
            chat.page.keyboard.press("Escape")
        show_sidebar(chat)
        chat.page.locator("#me-open").click()
        yield "the person's menu"

    chat = visit(locale=language, viewport=SIZES[sizes[0]]).open()
    check(translated, chat, *sizes, axe=language == "de")


def preview(chat: Chat) -> Iterator[str]:
    for kind, source in (
        ("html", "<p>Text</p>" + "<br>" * 90 + "<button>Inside</button>"),
        ("svg", '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0"/></svg>'),
    ):
        window, _ = opened(chat, chat.say(fenced(source, kind)))
        expect(window).to_be_visible()
        yield kind
        chat.page.keyboard.press("Escape")
    cells = "| " + " | ".join(["something wide"] * 9) + " |\n"
    said = chat.say(answer(cells + "|---" * 9 + "|\n" + cells * 3))
    expect(said.get_by_role("button", name="Copy the table")).to_be_visible()
    yield "a table"


def test_a_preview(visit: Visit) -> None:
    check(preview, visit().open())
