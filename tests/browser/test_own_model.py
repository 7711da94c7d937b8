"""People use their own model: its tools, its failures, and a server that cuts prompts silently."""

from __future__ import annotations

import json
import re
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit, provider_environment
from tests.browser.test_accessibility import violations
from tests.fakes.openai_server import FakeOpenAI
from tests.running import ROOT, START_SECONDS, Server

pytestmark = pytest.mark.browser
AGENTS = {
    "docked": {
        "name": "Docked",
        "personality": "You research.",
        "nodes": ["llm.gemini", "search", "deep_research", "think"],
    },
    "handy": {
        "name": "Handy",
        "personality": "You help.",
        "nodes": ["llm.openai", "calculator", "mcp.gate"],
    },
}
GATE = {"command": sys.executable, "args": [str(ROOT / "tests" / "fakes" / "mcp_server.py")]}
# Each sentence is shown only briefly, so polling could miss it.
RECORD = """() => {
  window.waits = [];
  new MutationObserver(() => {
    const line = document.querySelector(".waiting-line:not([hidden])");
    if (line) window.waits.push(line.textContent);
  }).observe(document.querySelector("#col"), { childList: true, subtree: true });
}"""


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeOpenAI]:
    """A server that silently keeps only the end of a prompt."""
    with FakeOpenAI(keep=2048) as running:
        yield running


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("own")
    for slug, template in AGENTS.items():
        (folder / "agents" / slug).mkdir(parents=True)
        text = json.dumps({"version": "1.0", "agentId": slug, **template})
        (folder / "agents" / slug / "template.json").write_text(text)
    (folder / "tools.json").write_text(json.dumps({"mcpServers": {"gate": GATE}}))
    environment = provider_environment(
        fake,
        AGENTS_DIR=str(folder / "agents"),
        TOOLS_FILE=str(folder / "tools.json"),
        GEMINI_API_KEY="sk-canary-of-gemini",
        GEMINI_BASE_URL=fake.base_url,
    )
    with Server(folder / "var", **environment) as running:
        wait_for_tools(running)
        yield running
        running.kill()


def wait_for_tools(server: Server) -> None:
    """A message too waits for a tool server, but not long enough on a busy machine."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        with urllib.request.urlopen(f"{server.url}/chat?agent=handy", timeout=5) as page:
            if b"gate__wait" in page.read():
                return
        time.sleep(0.05)
    raise AssertionError(f"the tool server isn't there after {START_SECONDS} s:\n{server.log}")


def directive(*calls: tuple[str, dict[str, str]], text: str) -> str:
    joined = "|".join(f"{name}:{json.dumps(arguments)}" for name, arguments in calls)
    return f"[[calls={joined};text={text}]]"


def test_tools_that_are_missing_are_named_and_a_call_is_shown_from_its_beginning(
    visit: Visit, fake: FakeOpenAI, tmp_path: Path
) -> None:
    chat = visit().open("/chat?agent=docked")
    chat.page.locator("#agent-open").click()
    card = chat.popover.get_by_role("link", name="Docked")
    expect(card).to_have_attribute(
        "title",
        re.compile("search, deep_research, think are missing: there is no tool of that name here"),
    )
    chat.page.keyboard.press("Escape")
    expect(chat.say("Who are you? [[text=It chats.]]").locator(".body")).to_have_text("It chats.")
    assert "tools" not in fake.requests[-1]

    chat.open("/chat?agent=handy")
    release = tmp_path / "let go"
    calls = (("calculator", {"expression": "7*6"}), ("gate__wait", {"path": str(release)}))
    chat.write(f"Open it. {directive(*calls, text='It is open.')}")
    lines, status = chat.page.locator(".call summary"), chat.page.locator("#status")
    expect(lines).to_have_text(['Used calculator("7*6")→ 42', "Using gate__wait…"])
    lines.last.click()
    expect(chat.page.locator(".call.running")).to_contain_text("No result yet.")
    assert violations(chat.page) == []
    release.touch()
    expect(lines.last).to_contain_text("→ let go")
    expect(chat.receipt_buttons).to_have_count(1)
    expect(chat.answers.locator(".md").last).to_have_text("It is open.")
    expect(status).not_to_contain_text("Using")
    sent = fake.requests[-1]["messages"]
    assert [json.loads(one["content"]) for one in sent if one["role"] == "tool"] == [
        {"result": "42", "exact": True},
        {"result": "let go"},
    ]


def test_a_prompt_cut_by_its_server_is_detected_and_a_wait_is_shown_before_an_answer(
    visit: Visit, fake: FakeOpenAI
) -> None:
    chat = visit().open("/chat?agent=handy&debug=true")
    chat.say(f"{'The tide comes in twice a day. ' * 800} [[text=It does.]]")
    assert "cut" not in json.dumps(fake.requests[-1])
    cut = "not the history policy, cut this prompt without saying so"
    expect(chat.endings).to_contain_text(cut)
    expect(chat.endings).to_contain_text("2,048")
    show_last_answer(chat)
    expect(chat.panel).to_contain_text(cut)
    chat.reload()
    expect(chat.endings).to_contain_text(cut)

    chat.page.evaluate(RECORD)
    show_last_answer(chat)
    chat.say("Busy? [[mode=429;retry_ms=600;fails=1;text=Not any more.]]")
    expect(chat.answers.last.locator(".md").last).to_have_text("Not any more.")
    waited = chat.page.evaluate("waits")[0]
    assert waited.endswith("is busy. Trying again in 1 s.")
    expect(chat.panel.locator("[data-section=rounds]")).to_contain_text("is busy")
    expect(chat.panel.locator(".compare .now")).to_have_count(1)


def show_last_answer(chat: Chat) -> None:
    chat.panel.get_by_role("button", name="Last answer").click()
