"""In another language nothing of the page stays English: each text is in one of the catalogues."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit, provider_environment
from tests.browser.watch import Watch, failed_request
from tests.fakes.openai_server import FakeOpenAI
from tests.pseudo_server import outside, write_pseudo_catalogues
from tests.running import Server

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not shutil.which("msgfmt"), reason="there is no GNU gettext here"),
]
# What people, agents and models wrote, names, codes and values of settings are the same in every
# language; Django's own words of forms are in Django's catalogues.
CONTENT = (
    ".intro-about, .prompt, .agent-about, .agent-name, .tags, .hit, .hit-title, .md, "
    ".inside li, .m.user .body, .why-quote, .conv, .version-text, .sources td, "
    ".reasons code, pre, code, time, kbd, noscript, .field > label, .field-help, "
    ".picture-name, #title, .queue-text"
)
SPOKEN = ("aria-label", "title", "placeholder", "alt")
READ = """([content, spoken]) => {
  const found = [];
  const told = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data;
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches(content)) return "";
    if (node.matches("script, style, template") || !node.checkVisibility()) return "";
    for (const name of spoken) {
      // The words that an agent's title adds to its name are the agent's own.
      if (name === "title" && node.matches(".agent-link")) continue;
      if (node.hasAttribute(name)) found.push(node.getAttribute(name));
    }
    if (node.matches("textarea, input")) return "";
    const text = [...node.childNodes].map(told).join("");
    if (getComputedStyle(node).display.startsWith("inline")) return text;
    found.push(...text.split("\\n"));
    return "\\n";
  };
  found.push(told(document.body));
  return found;
}"""
NAMES = re.compile(
    r"Chatsite|Memo|Archivist|Rewriter|Keeper|Headlines|gpt-[\w.-]+|claude-[\w.-]+|fake-model|"
    r"SmolLM2[\w ]*|OpenAI|Anthropic|Ollama|LM Studio|GGUF|PDF|HISTORY_\w+|history\w+|"
    r"Headline writer|\b(?:lastN|lastn|none|all|tokens|relevant|lexical|triage|summary)\b|"
    r"\b(?:strategy|KV)\b|Ctrl|Shift|Alt|Esc|Enter|Tab|Home|End|Delete|F2|\b(?:k|M|G)B\b|\bms\b|\bs\b|[A-Z]\b|"
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\w*"
)


def strays(page: Page) -> list[str]:
    """The texts on the page, read or heard, that aren't from a catalogue."""
    texts: list[str] = page.evaluate(READ, [CONTENT, SPOKEN])
    rest = ((text.strip(), NAMES.sub("", outside(text))) for text in texts)
    return sorted({text for text, left in rest if re.search(r"[^\W\d_]{2,}", left)})


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    environment = write_pseudo_catalogues(tmp_path_factory.mktemp("locale"))
    folder = tmp_path_factory.mktemp("pseudo")
    with Server(folder, **provider_environment(fake, SIGNUP="true", **environment)) as running:
        yield running
        running.kill()


def press(chat: Chat, place: str) -> None:
    chat.page.locator(place).first.click()


def close(chat: Chat) -> None:
    chat.page.keyboard.press("Escape")
    expect(chat.popover).to_have_count(0)


def test_a_new_chat_and_what_opens_over_it(visit: Visit) -> None:
    chat = visit().open("/chat?historyPolicy=lastn&debug=true")
    assert "⟦" in chat.page.locator("#col").inner_text()
    expect(chat.page.locator("#link-line")).to_be_visible()
    assert strays(chat.page) == [], "the empty page, a refused link and the panel"
    for button in ("#chip", "#agent-open", "#model-open", "#me-open"):
        press(chat, button)
        expect(chat.popover).to_be_visible()
        if button == "#model-open":
            expect(chat.popover.get_by_role("radio").first).to_be_visible()
        assert strays(chat.page) == [], button
        close(chat)
    for keys in ("Control+KeyK", "Control+Slash"):
        chat.page.keyboard.press(keys)
        expect(chat.page.locator("dialog[open]")).to_be_visible()
        assert strays(chat.page) == [], keys
        chat.page.keyboard.press("Escape")


def test_a_chat_with_everything_open(visit: Visit) -> None:
    chat = visit().open("/chat?historyPolicy=lastN&historyLength=2&debug=true")
    for number in range(3):
        chat.write(f"Question {number}?")
        expect(chat.users).to_have_count(number + 1)
        expect(chat.writing).to_have_count(0)
    expect(chat.horizon).to_be_visible()
    assert strays(chat.page) == [], "the chat with the panel"
    chat.panel.evaluate(
        "(it) => it.querySelectorAll('details').forEach((one) => (one.open = true))"
    )
    assert strays(chat.page) == [], "the panel with its parts open"
    press(chat, "[data-act=saw] >> nth=-1")
    expect(chat.panel.locator("[data-section=reported]")).to_be_visible()
    assert strays(chat.page) == [], "the last answer's receipt"
    for act in ("more", "again-with"):
        chat.answers.last.hover()
        press(chat, f"#col article.m.assistant:last-of-type [data-act={act}]")
        expect(chat.popover).to_be_visible()
        if act == "again-with":
            expect(chat.popover.locator("[data-policy]").first).to_be_visible()
        assert strays(chat.page) == [], act
        close(chat)
    chat.users.first.hover()
    press(chat, "#col article.m.user [data-act=why]")
    expect(chat.page.locator("#why .why-offers li").first).to_be_visible()
    assert strays(chat.page) == [], "why it was forgotten"
    chat.page.keyboard.press("Escape")
    chat.users.last.hover()
    press(chat, "#col article.m.user:nth-last-of-type(2) [data-act=edit]")
    assert strays(chat.page) == [], "the editor"
    chat.page.locator(".editor-text").fill("Question 2, otherwise?")
    chat.page.keyboard.press("Control+Enter")
    expect(chat.toasts).not_to_be_empty()
    expect(chat.writing).to_have_count(0)
    assert strays(chat.page) == [], "the way back"
    press(chat, "#col article.m.user [data-act=versions]")
    expect(chat.popover.locator(".version-text").first).not_to_be_empty()
    assert strays(chat.page) == [], "all versions"
    press(chat, ".version-compare")
    expect(chat.page.locator("dialog.two-answers .md").first).to_be_visible()
    assert strays(chat.page) == [], "two versions side by side"


def test_what_is_found_kept_and_waits(visit: Visit) -> None:
    chat = visit().open("/chat")
    press(chat, "#bookmarks")
    assert strays(chat.page) == [], "no bookmarks"
    press(chat, "#bookmarks")
    chat.page.locator("#find").fill("nothing like this")
    expect(chat.page.locator("#convs")).to_contain_text("⟦Nothing found")
    assert strays(chat.page) == [], "nothing found"
    chat.page.locator("#find").fill("")
    much = "Tell me much. [[tokens=900;rate=40]]"
    chat.begin(much, shows="w3")
    chat.write("And then?")
    expect(chat.page.locator("#queue")).to_be_visible()
    assert strays(chat.page) == [], "a message that waits"
    press(chat, "#stop")
    expect(chat.page.locator("#convs .conv-row")).to_have_count(1)
    chat.page.locator("#convs .conv-row").hover()
    press(chat, ".conv-more")
    assert strays(chat.page) == [much], "the menu of a chat, whose label is the chat's title"


def test_failures_and_refusals(visit: Visit, watch: Watch) -> None:
    watch.allow(failed_request(400), failed_request(404))
    chat = visit().open("/chat")
    for mode in ("429", "500", "401", "quota", "too_large", "content_filter", "length", "cut"):
        chat.write(f"Ask [[mode={mode}]]")
        expect(chat.writing).to_have_count(0)
        expect(chat.page.locator("#col .ending:visible").last).to_be_visible()
        assert strays(chat.page) == [], mode
        chat.open("/chat")
    chat.draft.evaluate("(box) => { box.value = 'word '.repeat(60_000); }")
    chat.draft.press("Space")
    chat.page.keyboard.press("Enter")
    expect(chat.notice).to_be_visible()
    assert strays(chat.page) == [], "a message that is too long"


def test_the_account_pages(visit: Visit, watch: Watch) -> None:
    watch.allow(failed_request(404), failed_request(403))
    chat = visit().open()
    for path in ("/accounts/login/", "/accounts/signup/", "/accounts/", "/nothing-here"):
        chat.page.goto(path)
        assert strays(chat.page) == [], path
