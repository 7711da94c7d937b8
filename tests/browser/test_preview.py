"""Pages, drawings and tables of an answer: shown in a frame that reaches nothing, kept as files."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Locator, expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import violations
from tests.browser.test_keyboard import walk_to
from tests.browser.watch import Watch

pytestmark = pytest.mark.browser
REFUSED = (
    r"Content Security Policy",
    r"^console: CSP: ",
    r"Unsafe attempt to initiate navigation",
    r"Refused to|Framing '",
    r"Blocked (opening|form submission|script execution)",
    r"Unable to post message|allow-(top-navigation|same-origin|modals)",
)


class Outside(http.server.BaseHTTPRequestHandler):
    """A server that nobody may reach; it notes who did."""

    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(204)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def outside() -> Iterator[str]:
    Outside.asked.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Outside) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def fenced(text: str, language: str) -> str:
    return answer(f"Here:\n\n```{language}\n{text}\n```\n\nThat was it.")


def opened(chat: Chat, said: Locator) -> tuple[Locator, FrameLocator]:
    """The window of a preview, and what is shown in it."""
    said.get_by_role("button", name="Preview").click()
    window = chat.page.get_by_role("dialog", name="Preview")
    return window, window.frame_locator("iframe").frame_locator("iframe")


def test_a_page_is_shown_with_its_scripts_and_kept_as_a_file(chat: Chat) -> None:
    style, script = "<style>p{color:teal}</style>", "<script>a.textContent='New'</script>"
    page = f"<!doctype html>{style}<p id=a>Old</p>{script}"
    said = chat.say(fenced(page, "html"))
    window, shown = opened(chat, said)
    expect(shown.locator("p")).to_have_text("New")
    expect(shown.locator("p")).to_have_css("color", "rgb(0, 128, 128)")
    assert violations(chat.page) == []
    with chat.page.expect_download() as kept:
        window.get_by_role("button", name="Download").click()
    assert kept.value.suggested_filename == "preview.html"
    assert Path(kept.value.path()).read_text().strip() == page
    chat.page.keyboard.press("Escape")
    expect(chat.page.locator("iframe")).to_have_count(0)
    expect(said.get_by_role("button", name="Preview")).to_be_focused()


HOSTILE = """<link rel=stylesheet href="OUT/style"><img src="OUT/img">
<script src="OUT/script"></script><script src="/static/chat/main.js"></script>
<iframe src="OUT/frame"></iframe><iframe src="/chat"></iframe>
<form action="OUT/form" method=post></form><p id=told></p>
<button onclick="location = 'OUT/self'">Leave</button><script>
const found = [];
const attempt = async (name, act) => {
  let told = "done";
  try { await act(); } catch (error) { told = "refused"; }
  found.push(name + ": " + told);
};
(async () => {
  navigator.sendBeacon("OUT/beacon");
  await attempt("fetch", () => fetch("OUT/fetch"));
  await attempt("own", () => fetch("/conversations"));
  await attempt("socket", () => new Promise((done, failed) => {
    const one = new WebSocket("OUT/socket".replace("http", "ws"));
    one.onopen = done;
    one.onerror = failed;
  }));
  await attempt("parent", () => parent.parent.document.title);
  await attempt("top", () => top.document.title);
  await attempt("storage", () => localStorage.getItem("a"));
  await attempt("cookie", () => document.cookie);
  await attempt("database", () => indexedDB.open("a"));
  await attempt("popup", () => open("OUT/popup").closed);
  await attempt("leave", () => { top.location = "OUT/top"; });
  try { document.forms[0].submit(); } catch {}
  told.textContent = found.join("\\n");
  try { parent.location = "OUT/outer"; } catch {}
})();
</script>"""


def test_a_hostile_page_reaches_no_network_no_parent_no_storage_and_no_cookie(
    chat: Chat, watch: Watch, outside: str
) -> None:
    watch.allow(*REFUSED)
    said = chat.say(fenced(HOSTILE.replace("OUT", outside), "html"))
    address = chat.page.url
    window, shown = opened(chat, said)
    told = shown.locator("#told")
    expect(told).to_contain_text("leave")
    results = dict(line.split(": ") for line in (told.text_content() or "").splitlines())
    assert set(results.values()) == {"refused"}, results
    with chat.page.expect_event("console", lambda one: "Framing" in one.text):
        shown.get_by_role("button", name="Leave").click()
    assert Outside.asked == []
    assert chat.page.url == address
    expect(window).to_be_visible()
    window.get_by_role("button", name="Close").click()
    expect(chat.page.locator("iframe")).to_have_count(0)


def test_a_drawing_is_shown_and_its_scripts_dont_run(
    chat: Chat, watch: Watch, outside: str
) -> None:
    watch.allow(*REFUSED)
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" onload="document.title=1">'
        f'<image href="{outside}/a"/>'
        '<circle cx="4" cy="4" r="3"/><script>document.querySelector("circle").remove()</script>'
        "</svg>"
    )
    window, shown = opened(chat, chat.say(fenced(drawing, "svg")))
    expect(shown.locator("circle")).to_be_visible()
    assert shown.locator("html").evaluate("() => document.title") == ""
    assert Outside.asked == []
    with chat.page.expect_download() as kept:
        window.get_by_role("button", name="Download").click()
    assert kept.value.suggested_filename == "preview.svg"


def test_a_page_that_loops_for_ever_ends_with_its_window(chat: Chat) -> None:
    said = chat.say(fenced("<script>for (;;);</script>", "html"))
    window, _ = opened(chat, said)
    window.get_by_role("button", name="Close").click()
    expect(chat.page.locator("iframe")).to_have_count(0)
    chat.say("Are you still there?")


def test_a_table_is_copied_and_kept_without_formulas(chat: Chat) -> None:
    table = (
        "| place | tide, m |\n|---|---|\n| Saint-Malo | -12.5 |\n"
        '| =HYPERLINK("http://a.example") | a "b" |\n'
    )
    said = chat.say(answer(table))
    with chat.page.expect_download() as kept:
        said.get_by_role("button", name="Download CSV").click()
    assert kept.value.suggested_filename == "table.csv"
    assert Path(kept.value.path()).read_bytes().decode() == (
        '\ufeffplace,"tide, m"\r\nSaint-Malo,-12.5\r\n'
        '"\'=HYPERLINK(""http://a.example"")","a ""b"""\r\n'
    )
    chat.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    said.get_by_role("button", name="Copy the table").click()
    expect(said.get_by_role("button", name="Copy the table")).to_have_text("Copied")
    copied = chat.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("place\ttide, m\nSaint-Malo\t-12.5\n'=HYPERLINK")


def test_by_keyboard_alone_on_a_phone(visit: Visit) -> None:
    chat = visit(viewport={"width": 400, "height": 800}).open()
    said = chat.say(fenced("<button>Inside</button>", "html"))
    said.get_by_role("button", name="Preview").focus()
    chat.page.keyboard.press("Enter")
    window = chat.page.get_by_role("dialog", name="Preview")
    inside = window.frame_locator("iframe").frame_locator("iframe").get_by_role("button")
    expect(inside).to_be_visible()
    expect(window.get_by_role("button", name="Close")).to_be_focused()
    for _ in range(3):
        chat.page.keyboard.press("Shift+Tab")
    expect(inside).to_be_focused()
    chat.page.keyboard.press("Tab")
    expect(window.get_by_role("button", name="Copy")).to_be_focused()
    chat.page.keyboard.press("Escape")
    expect(window).to_be_hidden()


def test_a_table_is_copied_by_keys_alone(visit: Visit) -> None:
    chat = visit(permissions=["clipboard-read", "clipboard-write"]).open()
    chat.say(answer("| a | b |\n|---|---|\n| 1 | 2 |"))
    walk_to(chat.page, "Copy the table", key="Shift+Tab")
    chat.page.keyboard.press("Enter")
    expect(chat.page.locator(":focus")).to_have_text("Copied")
    assert chat.page.evaluate("navigator.clipboard.readText()") == "a\tb\n1\t2"
