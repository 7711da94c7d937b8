"""Attacks by what a model writes: answers without end, and formulas that end the page."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from playwright.async_api import Error, Page, async_playwright

from tests.attacks.kit import Attack, Target
from tests.browser.chat import answer
from tests.browser.conftest import ARGUMENTS
from tests.fakes.mailing import rows
from tests.person import Person

LONGEST = 1_000_000
DEEP = "$$" + "x^{" * 160 + "1" + "}" * 160 + "$$"
SUM = r"\def\a{x+x+x+x+x+x+x+x+x+x}\def\b{\a\a\a\a\a\a\a\a\a\a}" + r"\b" * 15
# The longest time between two ticks of the page's own clock, in milliseconds.
STANDS_STILL = """() => {
  window.longest = 0;
  let last = performance.now();
  setInterval(() => {
    const now = performance.now();
    window.longest = Math.max(window.longest, now - last);
    last = now;
  }, 20);
}"""


async def endless_answer(target: Target) -> None:
    """A model server that goes on and on."""
    async with Person(target.server.url) as eve:
        page = await eve.page()
        with suppress(TimeoutError):
            async with asyncio.timeout(25):
                ended = await page.say("x [[tokens=1500000;over=1]]")
                target.saw(ended["message"]["finish_reason"])
    longest = "SELECT max(length(content)) FROM conversations_message WHERE role = 'assistant'"
    stored = rows(target.server, longest)[0][0] or 0
    target.saw(f"{stored:,} characters")
    if stored > LONGEST:
        target.breached(f"{stored:,} characters are stored")


async def formulas(target: Target) -> None:
    """Opens pages in which a model writes a formula that is deep, and 120 that grow."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=list(ARGUMENTS)
        )
        many = "\n\n".join(f"$${SUM}$$" for _ in range(target.times(120)))
        for text in (DEEP, many):
            page = await browser.new_page()
            page.on("crash", lambda page: target.breached("the tab ends"))
            try:
                async with asyncio.timeout(20):
                    target.saw(await _opened(page, target, answer(text)))
            except TimeoutError:
                target.breached("the page stands still for more than 10 s")
            except Error:
                target.saw("the page is gone")
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(5):
                await browser.close()


async def _opened(page: Page, target: Target, text: str) -> str:
    await page.goto(f"{target.server.url}/chat")
    await page.evaluate(STANDS_STILL)
    await page.fill("#draft", text)
    await page.keyboard.press("Enter")
    await page.locator(".formula").last.wait_for(timeout=15_000)
    await page.wait_for_timeout(4_000)
    longest = await page.evaluate("window.longest")
    return f"stands still for {longest / 1000:.1f} s"


ATTACKS = (
    Attack(
        "endless_answer",
        "an answer of 1,500,000 words to a request for 2,048",
        endless_answer,
        refuses=False,
    ),
    Attack(
        "formulas",
        "a formula of 160 levels, and 120 that grow",
        formulas,
        refuses=False,
        in_ci=False,
    ),
)
