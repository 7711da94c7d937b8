"""Diagrams in answers: source until somebody has them drawn, in a frame that reaches nothing."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import FrameLocator, Locator, expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import violations
from tests.browser.watch import Watch

pytestmark = pytest.mark.browser
FLOW = "graph TD\n  A[Ask] --> B{Known?}\n  B -->|yes| C[Answer]\n  B -->|no| D[Search]"


def fenced(text: str) -> str:
    return answer(f"Here it is:\n\n```mermaid\n{text}\n```\n\nThat was it.")


def drawn(said: Locator) -> FrameLocator:
    said.get_by_role("button", name="Draw the diagram").click()
    return said.frame_locator("iframe")


def test_a_diagram_is_drawn_on_demand_and_its_source_comes_back(chat: Chat) -> None:
    said = chat.say(fenced(FLOW))
    expect(said.locator(".code pre")).to_contain_text("graph TD")
    assert asked_for(chat, "mermaid") == asked_for(chat, "/diagram") == []
    check_diagram(chat, said, "light")
    check_diagram(chat, said, "dark")


def check_diagram(chat: Chat, said: Locator, scheme: Literal["light", "dark"]) -> None:
    chat.page.emulate_media(color_scheme=scheme)
    source, drawing = said.locator(".code pre"), drawn(said)
    expect(drawing.locator("svg").get_by_text("Known?")).to_be_visible()
    expect(source).to_be_hidden()
    frame = said.locator("iframe")
    assert frame.get_attribute("sandbox") == "allow-scripts"
    box = frame.bounding_box()
    assert box is not None and box["height"] > 150
    assert drawing.locator("html").evaluate("(one) => getComputedStyle(one).colorScheme") == scheme
    assert violations(chat.page) == []
    said.get_by_role("button", name="Show the source").click()
    expect(source).to_be_visible()
    expect(frame).to_have_count(0)


def asked_for(chat: Chat, name: str) -> list[str]:
    found: list[str] = chat.page.evaluate(
        "(name) => performance.getEntriesByType('resource').map((one) => one.name)"
        ".filter((one) => one.includes(name))",
        name,
    )
    return found


def test_what_is_no_diagram_says_why_and_stays_source(chat: Chat) -> None:
    said = chat.say(fenced("graph TD\n  A[Ask --> B"))
    said.get_by_role("button", name="Draw the diagram").click()
    expect(said.get_by_role("status")).to_contain_text("This diagram can't be drawn: Parse error")
    expect(said.locator(".code pre")).to_be_visible()
    expect(said.locator("iframe")).to_have_count(0)


def test_a_hostile_diagram_neither_runs_nor_asks_nor_leads_anywhere(
    chat: Chat, watch: Watch
) -> None:
    watch.allow("inline event handler violates")
    watch.allow("CSP: script-src-attr refused inline")
    said = chat.say(
        fenced(
            "graph TD\n"
            '  A["<img src=http://203.0.113.1/a.png onerror=top.owned=1>"] --> B\n'
            '  B["<script>parent.owned=1</script><b>fat</b>"]\n'
            '  click A href "javascript:parent.owned=1"\n'
            "  click B call alert()\n"
        )
    )
    drawing = drawn(said)
    expect(drawing.locator("svg").first).to_be_visible()
    expect(drawing.locator("script, img, iframe")).to_have_count(2)  # the frame's own scripts
    assert chat.page.evaluate("window.owned") is None
    addresses = drawing.locator("a").evaluate_all("(all) => all.map((one) => one.href.baseVal)")
    assert not any("javascript" in one for one in addresses)


def test_one_that_is_still_written_isnt_drawn(chat: Chat) -> None:
    text = f"```mermaid\n{FLOW}\n" + "  D --> E\n" * 2000
    chat.draft.fill(answer(text, rate=20))
    chat.draft.press("Enter")
    expect(chat.writing.locator(".code pre")).to_contain_text("graph TD")
    expect(chat.writing.get_by_role("button", name="Draw the diagram")).to_have_count(0)
    chat.page.get_by_role("button", name="Stop").click()
    expect(chat.answers.last.get_by_role("button", name="Draw the diagram")).to_be_visible()


def test_on_a_phone_it_fits(visit: Visit) -> None:
    chat = visit(viewport={"width": 400, "height": 800}).open()
    said = chat.say(fenced("sequenceDiagram\n  Ada->>Bob: Are you there?\n  Bob-->>Ada: Yes."))
    drawing = drawn(said)
    expect(drawing.locator("svg").get_by_text("Are you there?")).to_be_visible()
    wide = chat.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 400
