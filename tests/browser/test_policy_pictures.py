"""The pictures of docs/policies.md, made by the running application: only where PICTURES names a
folder, since sixty turns for each of four agents take a while."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, ViewportSize, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Visit, provider_environment
from tests.browser.voyage import BERTH, DINNER, QUESTION
from tests.browser.voyage_setup import store_voyage
from tests.fakes.openai_server import FakeOpenAI
from tests.running import ROOT, Server

pytestmark = pytest.mark.browser
NARROW: ViewportSize = {"width": 960, "height": 640}
WITH_PANEL: ViewportSize = {"width": 1280, "height": 800}
HIGH: ViewportSize = {"width": 960, "height": 720}
TALL: ViewportSize = {"width": 960, "height": 900}
PHONE: ViewportSize = {"width": 400, "height": 800}
LARGEST = 200_000
# Copies of the demo agent, with a policy that only a template may choose.
TEMPLATE_SETTINGS = {
    "summary": {"historyPolicy": "summary", "historyTokens": 2500},
    "triage": {
        "historyPolicy": "relevant",
        "historySelector": "triage",
        "conversation": {"lookback_count": 60},
    },
}
NOTES = (4, 6, 14)


@pytest.fixture(scope="module")
def pictures() -> Path:
    folder = ROOT / os.environ["PICTURES"] / "policies"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def server(fake: FakeOpenAI, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    agents = tmp_path_factory.mktemp("agents")
    shutil.copytree(ROOT / "agents", agents, dirs_exist_ok=True)
    for slug, settings in TEMPLATE_SETTINGS.items():
        template = json.loads((agents / "demo/template.json").read_text())
        template["agentId"] = slug
        template["chatSettings"] |= settings
        (agents / slug).mkdir()
        (agents / slug / "template.json").write_text(json.dumps(template))
    folder = tmp_path_factory.mktemp("policies")
    with Server(folder, **provider_environment(fake, AGENTS_DIR=str(agents))) as running:
        yield running
        running.kill()


def take(chat: Chat, path: Path, *, of: Locator | None = None) -> None:
    chat.page.mouse.move(0, 0)
    chat.page.evaluate("document.fonts.ready.then(() => 0)")
    place = of or chat.page
    place.screenshot(path=path, animations="disabled", caret="hide")
    assert path.stat().st_size < LARGEST, path


def open_with_draft(chat: Chat, conversation: str, query: str, *, draft: str = QUESTION) -> Chat:
    """Open the conversation with a draft, and wait for the draft's preview."""
    chat.open(f"/chat/{conversation}?{query}")
    hide = chat.page.get_by_role("button", name="Hide the sidebar")
    if hide.is_visible():
        hide.click()
    words = chat.meter.locator(".meter-words")
    before, old_draft = words.inner_text(), chat.draft.input_value()
    chat.draft.fill(draft)
    if draft != old_draft:
        expect(words).not_to_have_text(before)
    return chat


def scroll_to_top(place: Locator) -> None:
    """Scroll the transcript, or the panel, so that `place` is near its top."""
    place.evaluate(
        """(one) => {
          const box = one.closest(".log, .insp");
          box.scrollTop += one.getBoundingClientRect().top - box.getBoundingClientRect().top - 70;
        }"""
    )


def test_what_each_plain_policy_sends(
    visit: Visit, server: Server, fake: FakeOpenAI, pictures: Path
) -> None:
    chat = visit(viewport=NARROW).open()
    id = store_voyage(chat, server, fake, query="historyPolicy=lastN&historyLength=5")
    take(open_with_draft(chat, id, "historyPolicy=none"), pictures / "none.png")
    take(open_with_draft(chat, id, "historyPolicy=lastN&historyLength=3"), pictures / "last-n.png")
    chat.page.set_viewport_size(HIGH)
    open_with_draft(chat, id, "historyPolicy=all")
    chat.chip.click()
    take(chat, pictures / "all.png")
    chat.page.set_viewport_size(WITH_PANEL)
    open_with_draft(chat, id, "historyPolicy=tokens&historyTokens=1000&debug=true")
    wait_for_comparison(chat)
    scroll_to_top(chat.horizon)
    take(chat, pictures / "tokens.png")


def test_a_turn_that_is_found_again_and_why_it_was_lost(
    visit: Visit, server: Server, fake: FakeOpenAI, pictures: Path
) -> None:
    chat = visit(viewport=WITH_PANEL).open()
    id = store_voyage(chat, server, fake, query="historyPolicy=lastN&historyLength=5")
    open_with_draft(chat, id, "historyPolicy=relevant&historyTokens=1500&debug=true")
    take(chat, pictures / "compare.png", of=wait_for_comparison(chat))
    chat.page.set_viewport_size(NARROW)
    open_with_draft(chat, id, "historyPolicy=lastN&historyLength=5")
    open_why_dialog(chat)
    take(chat, pictures / "why.png")
    chat.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    chat.page.set_viewport_size(PHONE)
    take(chat, pictures / "why-phone.png")
    chat.page.emulate_media(color_scheme="light", reduced_motion="reduce")
    chat.page.set_viewport_size(WITH_PANEL)
    open_with_draft(chat, id, "historyPolicy=relevant&historyTokens=1500&debug=true", draft="")
    ask_and_open_receipt(chat, QUESTION)
    take(chat, pictures / "relevant.png")


def open_why_dialog(chat: Chat) -> None:
    early_turn = chat.users.filter(has_text=BERTH)
    chat.load_all()
    early_turn.hover()
    early_turn.get_by_role("button", name="Why did it forget?").click()
    expect(chat.page.get_by_role("button", name="Pin it")).to_be_visible()


def wait_for_comparison(chat: Chat) -> Locator:
    """Wait until the table of other policies is about the draft; return the table."""
    table = chat.panel.locator("[data-section=compare]")
    tokens = chat.meter.locator(".meter-words").inner_text().split()[0]
    expect(table.locator("tr.now td").nth(1)).to_have_text(tokens)
    return table


def ask_and_open_receipt(chat: Chat, question: str) -> None:
    """Send the question and show in the panel how the sent messages were chosen."""
    chat.say(question)
    chat.panel.get_by_role("button", name="Last answer").click()
    expect(chat.panel.locator("table.compare")).to_be_visible()
    scroll_to_top(chat.panel.locator("[data-section=parts]"))


def test_what_a_fast_model_chose(
    visit: Visit, server: Server, fake: FakeOpenAI, pictures: Path
) -> None:
    chat = visit(viewport=WITH_PANEL).open()
    id = store_voyage(chat, server, fake, agent="triage")
    open_with_draft(chat, id, "debug=true", draft="")
    ask_and_open_receipt(chat, DINNER)
    take(chat, pictures / "triage.png")


def test_what_the_summary_holds(
    visit: Visit, server: Server, fake: FakeOpenAI, pictures: Path
) -> None:
    chat = visit(viewport=WITH_PANEL).open()
    id = store_voyage(chat, server, fake, agent="summary")
    open_with_draft(chat, id, "debug=true")
    scroll_to_top(chat.page.locator("article:has(+ .horizon-place)"))
    take(chat, pictures / "summary.png")
    chat.page.set_viewport_size(NARROW)
    open_with_draft(chat, id, "")
    scroll_to_top(chat.horizon)
    chat.horizon.locator(".summary-open").click()
    expect(chat.page.get_by_role("dialog")).to_be_visible()
    take(chat, pictures / "summary-window.png")


def test_what_a_compaction_would_lose(
    visit: Visit, server: Server, fake: FakeOpenAI, pictures: Path
) -> None:
    chat = visit(viewport=TALL).open()
    id = store_voyage(chat, server, fake, query="historyPolicy=lastN&historyLength=5")
    open_with_draft(chat, id, "historyPolicy=tokens&historyTokens=4000", draft="")
    chat.meter.get_by_role("button", name="Compact…").click()
    dialog = chat.page.locator("#compact")
    dialog.get_by_label("What the model should keep").fill("the berth and the gate")
    dialog.get_by_role("button", name="Write it with").click()
    expect(dialog.locator("#compact-told")).to_contain_text("Written by")
    chat.page.evaluate("document.activeElement.blur()")
    dialog.evaluate("(box) => box.scrollTo(0, box.scrollHeight)")
    take(chat, pictures / "compact.png")


def test_why_an_answer_cost_what_it_did(
    visit: Visit, server: Server, fake: FakeOpenAI, pictures: Path
) -> None:
    chat = visit(viewport=WITH_PANEL).open()
    id = store_voyage(chat, server, fake, query="historyPolicy=tokens&historyTokens=4000")
    open_with_draft(chat, id, "historyPolicy=tokens&historyTokens=4000&debug=true", draft="")
    for question in ("Who has the radio licence?", "And who steers?", QUESTION):
        chat.say(question)
    chat.panel.locator("[data-section=costs] button:has(b)").last.click()
    expect(chat.panel.locator("[data-section=since]")).to_contain_text("the policy moved its cut")
    chat.page.evaluate("document.activeElement.blur()")
    take(chat, pictures / "cost.png")


def test_what_a_strategy_put_together(
    visit: Visit, server: Server, fake: FakeOpenAI, pictures: Path
) -> None:
    chat = visit(viewport=WITH_PANEL).open()
    id = store_voyage(chat, server, fake, agent="keeper", query="historyTokens=1500", keep=NOTES)
    open_with_draft(chat, id, "historyTokens=1500&debug=true", draft="")
    ask_and_open_receipt(chat, QUESTION)
    scroll_to_top(chat.panel.locator("[data-section=verdicts]"))
    take(chat, pictures / "strategy.png")
