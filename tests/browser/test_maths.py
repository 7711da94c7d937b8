"""Mathematics in answers: drawn by KaTeX as nodes, loaded when the first formula appears."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.chat import Chat, answer
from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser
TEXT = r"""The roots are \(x_{1,2} = -p \pm \sqrt{p^2 - q}\), so **two** of them.

$$
\int_0^1 x^2\,dx = \frac{1}{3}
$$

It costs $5 and $10, and `\(this\)` is code."""


def katex_requests(chat: Chat) -> list[str]:
    found: list[str] = chat.page.evaluate(
        "performance.getEntriesByType('resource').map((one) => one.name)"
        ".filter((name) => name.includes('katex'))"
    )
    return found


def test_formulas_are_drawn_and_nothing_else_is_taken_for_one(chat: Chat) -> None:
    assert katex_requests(chat) == []
    said = chat.say(answer(TEXT))
    expect(said.locator(".formula .katex")).to_have_count(2)
    expect(said.locator(".formula.display math")).to_have_count(1)
    expect(said.locator("strong")).to_have_text("two")
    expect(said).to_contain_text("It costs $5 and $10, and \\(this\\) is code.")
    assert katex_requests(chat)
    # Its source is what the formula says to a screen reader and what is copied with it.
    annotation = said.locator("annotation").first
    assert annotation.text_content() == r"x_{1,2} = -p \pm \sqrt{p^2 - q}"
    chat.reload()
    expect(chat.answers.last.locator(".formula .katex")).to_have_count(2)


def test_a_formula_that_cant_be_drawn_is_shown_as_it_was_written(chat: Chat) -> None:
    said = chat.say(answer(r"Broken: \(\frac{1}{\) and whole: \(a+b\)"))
    expect(said.locator(".formula .katex")).to_have_count(1)
    expect(said.locator(".formula.unreadable")).to_have_text(r"\frac{1}{")


def test_a_hostile_formula_neither_leads_anywhere_nor_holds_the_page(chat: Chat) -> None:
    text = (
        r"\(\href{javascript:alert(1)}{x}\) \(\includegraphics{http://203.0.113.1/a.png}\) "
        r"\(\def\a{\a\a}\a\) $$\rule{9999em}{9999em}$$"
    )
    said = chat.say(answer(text))
    expect(said.locator(".formula")).to_have_count(4)
    expect(said.locator("a, img")).to_have_count(0)
    wide = said.locator(".formula.display").evaluate("(one) => one.getBoundingClientRect().width")
    assert wide < 800
    expect(chat.say("And on.")).to_be_visible()


def test_a_long_formula_scrolls_in_its_own_box_on_a_phone(visit: Visit) -> None:
    chat = visit(viewport={"width": 400, "height": 800}).open()
    said = chat.say(answer("$$" + " + ".join(f"x_{{{n}}}^2" for n in range(60)) + "$$"))
    expect(said.locator(".formula.display .katex")).to_have_count(1)
    assert chat.page.evaluate("document.scrollingElement.scrollWidth") <= 400
    box = said.locator(".formula.display")
    assert box.evaluate("(one) => one.scrollWidth > one.clientWidth")
    assert box.get_attribute("tabindex") == "0"


def test_of_very_many_formulas_each_is_drawn_as_it_comes_into_view(chat: Chat) -> None:
    chat.turns(answer("\n\n".join(f"$$x_{{{number}}}$$" for number in range(300))))
    drawn = chat.page.locator(".formula .katex")
    expect(chat.page.locator(".formula")).to_have_count(300)
    expect(chat.page.locator(".formula").nth(299).locator(".katex")).to_be_visible()
    # Those in view first, then a hundred in all.
    chat.page.wait_for_function("() => document.querySelectorAll('.formula .katex').length >= 100")
    assert drawn.count() < 300
    for number in range(100, 300, 15):
        chat.page.locator(".formula").nth(number).scroll_into_view_if_needed()
        expect(chat.page.locator(".formula").nth(number).locator(".katex")).to_be_visible()
    expect(drawn).to_have_count(300)
