"""The page in Chromium beside the version before: from Enter to the first word of the answer.

A word is on the page once it is in the document, where a reader of the screen finds it too; it is
drawn with the frame that follows. Both are measured, since a script that waits for a frame to put
a word there hides the wait from the second figure alone.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser

from tests.bench.browsers import a_browser, checkout_before
from tests.bench.figures import Options, Row, ratios, spread, table
from tests.bench.people import question
from tests.bench.processes import application, fake_provider
from tests.browser.chat import Chat
from tests.running import ROOT

# The provider's own milliseconds to its first token, which are taken off.
PROVIDER = 50
MOST_MILLIS = 22
# Turns that fill caches and compile the page's functions.
WARM = 3
# From the key to the first word: in the document, and at the frame in which it is drawn.
WATCH = """() => {
  let enter = 0;
  addEventListener("keydown", ({ key }) => {
    if (key !== "Enter") return;
    enter = performance.now();
    globalThis.firstWord = null;
  }, true);
  const look = () => {
    const answer = [...document.querySelectorAll("#col article.m")].at(-1);
    const words = answer?.classList.contains("assistant") && answer.querySelector(".md");
    if (!enter || !words || words.hidden || !words.textContent.includes("w0")) return;
    const there = performance.now() - enter, begun = enter;
    enter = 0;
    requestAnimationFrame(() => {
      globalThis.firstWord = [there, performance.now() - begun];
    });
  };
  new MutationObserver(look).observe(document,
    { subtree: true, childList: true, characterData: true, attributes: true });
}"""


@dataclass(slots=True)
class Tab:
    """One version's page, and its figures in ms."""

    chat: Chat
    there: list[float] = field(default_factory=list)
    drawn: list[float] = field(default_factory=list)


async def run(options: Options) -> list[Row]:
    return await asyncio.to_thread(_run, options)


def _run(options: Options) -> list[Row]:
    times = options.times(41, 11)
    print(
        f"One person asks {times} times; the versions take turns. The provider waits {PROVIDER}\n"
        "ms before its first token, which are taken off.\n"
    )
    with ExitStack() as stack:
        before_root = stack.enter_context(checkout_before(options))
        provider = stack.enter_context(fake_provider())
        browser = stack.enter_context(a_browser())
        before = stack.enter_context(_tab(before_root, provider, browser))
        now = stack.enter_context(_tab(ROOT, provider, browser))
        for number in range(WARM + times):
            for tab in (before, now) if number % 2 else (now, before):
                _ask(tab, number, keep=number >= WARM)
    return _rows(before, now)


@contextmanager
def _tab(root: Path, provider: str, browser: Browser) -> Iterator[Tab]:
    with application(provider, root=root) as server:
        context = browser.new_context(base_url=server.url, viewport={"width": 1280, "height": 900})
        context.add_init_script(f"({WATCH})()")
        yield Tab(Chat(context.new_page()).open())
        context.close()


def _ask(tab: Tab, number: int, *, keep: bool) -> None:
    """Asks in the tab that is in front, since Chromium draws no other."""
    chat = tab.chat
    chat.page.bring_to_front()
    prompt = question(tokens=5, first=PROVIDER / 1000, about=f"sea {number}")
    chat.draft.fill(prompt)
    chat.draft.press("Enter")
    chat.receipt_buttons.nth(number).wait_for(state="attached")
    there, drawn = chat.page.wait_for_function("globalThis.firstWord").json_value()
    if keep:
        tab.there.append(there - PROVIDER)
        tab.drawn.append(drawn - PROVIDER)


def _rows(before: Tab, now: Tab) -> list[Row]:
    rows = [
        _row("Enter to the first word in the document, ms", before.there, now.there, MOST_MILLIS),
        _row("Enter to the frame that draws it, ms", before.drawn, now.drawn, None),
    ]
    print(table(
        ("what", "before", "now", "ratio", "target"),
        [(row.what, row.baseline, row.ours, row.ratio, row.target) for row in rows],
    ))  # fmt: skip
    return rows


def _row(what: str, before: list[float], now: list[float], most: float | None) -> Row:
    holds = most is None or statistics.median(now) <= most
    return Row(
        what=what,
        baseline=spread(before),
        ours=spread(now),
        ratio=f"{statistics.median(ratios(now, before)):.2f}",
        target="" if most is None else f"at most {most}: {'holds' if holds else 'MISSED'}",
    )
