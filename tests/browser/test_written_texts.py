"""Answers as models write them: variables, other scripts, a few HTML tags, unfinished tables."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.chat import Chat, answer

pytestmark = pytest.mark.browser


def right_edge(block: Locator) -> float:
    """How far the last character of its text is from the right edge of the message."""
    found: float = block.evaluate(
        """(block) => {
          const range = document.createRange();
          range.selectNodeContents(block);
          const column = block.closest(".md").getBoundingClientRect();
          return column.right - range.getBoundingClientRect().right;
        }"""
    )
    return found


def test_marks_and_tags_are_what_they_were_meant_to_be(chat: Chat) -> None:
    """Which text means what is tested without a browser (tests/page)."""
    text = (
        "3~5 of [http://[::1]:8000/x] are <mark>new</mark>, 10~20 \\[1\\].\n\n"
        "| a | b |\n|---|---|\n| `x|y` | $P(A|B)$ |\n\nx[^1]\n\n[^1]:A note."
    )
    said = chat.say(answer(text))
    expect(said.locator(".md p").first).to_have_text(
        "3~5 of [http://[::1]:8000/x] are new, 10~20 [1]."
    )
    expect(said.locator(".md a")).to_have_attribute("href", "http://[::1]:8000/x")
    expect(said.locator("mark")).to_have_text("new")
    expect(said.locator("td")).to_have_count(2)
    expect(said.locator("td code").first).to_have_text("x|y")
    expect(said.locator("td .formula .katex")).to_have_count(1)
    expect(said.locator("p.footnote")).to_contain_text("A note.")
    expect(said.locator(".md br")).to_have_count(0)
    text = (
        "| a | b |\n|---|---|\n| one<br>two | H<sub>2</sub>O |\n\n"
        "x<sup>2</sup> <kbd>Ctrl</kbd> `<br>` <b>bold</b> <sub onclick=x>no</sub> <kbd>open"
    )
    said = chat.say(answer(text))
    expect(said.locator("td br")).to_have_count(1)
    expect(said.locator(".md sub")).to_have_text("2")
    expect(said.locator(".md sup")).to_have_text("2")
    expect(said.locator(".md kbd")).to_have_text("Ctrl")
    expect(said).to_contain_text("<br> <b>bold</b> <sub onclick=x>no</sub> <kbd>open")


def test_each_block_has_its_own_direction(chat: Chat) -> None:
    text = (
        "Hello there.\n\nمرحبا بالعالم 10:30\n\n## שלום עולם\n\n- مرحبا\n- one\n\n"
        "> مرحبا\n\n| مدينة | `x` |\n|---|---|\n| القاهرة | a |\n\n`npm` مرحبا\n\n"
        "```\nمرحبا\n```\n\nBack again."
    )
    said = chat.say(answer(text)).locator(".md")
    paragraphs = said.locator("> p")
    directions = "(blocks) => blocks.map((block) => getComputedStyle(block).direction)"
    assert paragraphs.evaluate_all(directions) == ["ltr", "rtl", "rtl", "ltr"]
    assert said.locator("h4, blockquote, table").evaluate_all(directions) == ["rtl"] * 3
    assert said.locator("li").evaluate_all(directions) == ["rtl", "ltr"]
    assert said.locator("code").evaluate_all(directions) == ["ltr"] * 3
    assert right_edge(paragraphs.nth(1)) < 2 < 50 < right_edge(paragraphs.nth(0))
    # The bullet's room is on the side where the item begins.
    assert 20 < right_edge(said.locator("li").nth(0)) < 60


def test_each_line_of_a_question_has_its_own_direction(chat: Chat) -> None:
    chat.say("مرحبا بالعالم يا أهل الميناء\nHello.\n- שלום")
    edges: list[list[float]] = chat.users.last.locator(".body").evaluate(
        """(body) => {
          const text = document.createTreeWalker(body, NodeFilter.SHOW_TEXT).nextNode();
          const box = body.getBoundingClientRect();
          const ends = [...text.nodeValue.matchAll(/[^\\n]+/g)];
          return ends.map(({ 0: line, index }) => {
            const range = document.createRange();
            range.setStart(text, index);
            range.setEnd(text, index + line.length);
            const at = range.getBoundingClientRect();
            return [at.left - box.left, box.right - at.right];
          });
        }"""
    )
    _, (left, right), (last_left, last_right) = edges
    assert left < 20 < right, "English begins at the left"
    assert last_right < 20 < last_left, "Hebrew begins at the right"


def test_a_task_has_a_box_and_no_bullet(chat: Chat) -> None:
    said = chat.say(answer("- [x] done\n- [ ] open\n- plain"))
    styles = said.locator("li").evaluate_all(
        "(items) => items.map((item) => getComputedStyle(item).listStyleType)"
    )
    assert styles == ["none", "none", "disc"]
    expect(said.locator("li").first).to_have_text("☑ done")


WRITTEN = "Tides[^1] of ports.\n\n| Port | Tide |\n|------|------|\n| Aden | 2 m |\n\nEnd."


def test_no_raw_pipes_or_footnote_marks_are_seen_while_an_answer_is_written(chat: Chat) -> None:
    chat.page.evaluate(
        """() => {
          window.seen = new Set();
          const look = () => {
            for (const one of document.querySelectorAll(".assistant.m .md")) {
              window.seen.add(one.innerText);
            }
          };
          new MutationObserver(look).observe(document.querySelector("#col"), {
            childList: true, subtree: true, characterData: true,
          });
        }"""
    )
    said = chat.say(answer(WRITTEN, mode="slow"))
    expect(said.locator("td")).to_have_text(["Aden", "2 m"])
    seen: list[str] = chat.page.evaluate("() => [...window.seen]")
    assert len(seen) > 3
    assert [text for text in seen if "|" in text or "[^" in text] == []


def test_a_stopped_answer_shows_its_footnote_as_a_number(chat: Chat) -> None:
    chat.begin(answer("Tides[^1] come. " + "And go. " * 200, mode="slow"), shows="come.")
    chat.page.locator("#stop").click()
    expect(chat.writing).to_have_count(0)
    expect(chat.answers.last.locator(".footnote-reference sup")).to_have_text("1")
    expect(chat.answers.last).not_to_contain_text("[^1]")
