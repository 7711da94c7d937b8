"""The page in Chromium beside the version before: opening 2,000 messages, a long answer that
streams, and the memory that ten minutes of streaming leave behind."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.bench.browsers import a_browser, checkout_before
from tests.bench.figures import Options, Row, ratios, spread, table
from tests.bench.processes import application
from tests.browser.chat import Chat, answer
from tests.fakes.openai_server import FakeOpenAI
from tests.running import ROOT

MESSAGES = 2_000
CHARACTERS = 30_000
# Tokens a second: faster than people read, as fast as the quickest models answer.
RATE = 400
# Seconds of streaming, at 50 tokens a second.
STREAMING = 600
MOST_OPEN = 1_000
MOST_TASK = 50
MOST_GROWTH = 20
PATIENCE = 120_000
# The page's longest pause, in ms: a timer that should run every 4 ms says how late it is. Long
# tasks below 50 ms are not reported by the browser itself.
PAUSES = """() => {
  let last = performance.now();
  globalThis.longestPause = 0;
  const tick = () => {
    const now = performance.now();
    globalThis.longestPause = Math.max(globalThis.longestPause, now - last - 4);
    last = now;
    setTimeout(tick, 4);
  };
  tick();
}"""
# Says when a text can be read, two frames after it is in the page.
APPEARS = """(words) => {
  const look = () => {
    const rows = [...document.querySelectorAll("#col article.m .body")];
    if (!rows.some((row) => row.textContent.includes(words))) return requestAnimationFrame(look);
    const say = () => console.log(`there ${performance.now()}`);
    requestAnimationFrame(() => requestAnimationFrame(say));
  };
  requestAnimationFrame(look);
}"""
# Goes up, and asks for what is earlier where that takes a press, until the first message can be
# read; milliseconds. It gives up after a minute.
TO_THE_TOP = """(words) => new Promise((done, fail) => {
  const began = performance.now(), log = document.getElementById("log");
  const up = () => {
    const rows = [...document.querySelectorAll("#col article.m .body")].slice(0, 3);
    const taken = performance.now() - began;
    if (rows.some((row) => row.textContent.includes(words))) return done(taken);
    if (taken > 60_000) return fail(new Error("the first message never came"));
    log.scrollTop = 0;
    document.querySelector("#col > .more:not([disabled])")?.click();
    setTimeout(up, 16);
  };
  up();
})"""
PASSAGE = """## Soundings, part {number}

The quay stands in **nine fathoms** at low water, and the tide turns *twice* a day there. See the
[harbour's table](https://example.org/tides) before you go, and count `{number}` ropes.

- the first anchor, with a list that goes on for a while
- the second one, and what it weighs

| place | depth | note |
|---|---|---|
| quay | {number} m | mud |
| bar | 4 m | sand and shells |

```python
def depth(place: str) -> float:
    return {number} * 1.83
```

"""


@dataclass(slots=True)
class Tab:
    """One version's page, and its figures."""

    chat: Chat
    context: BrowserContext
    opening: list[float] = field(default_factory=list)
    opening_pause: list[float] = field(default_factory=list)
    to_the_top: list[float] = field(default_factory=list)
    top_pause: list[float] = field(default_factory=list)
    streaming: list[float] = field(default_factory=list)
    growth: list[float] = field(default_factory=list)


async def run(options: Options) -> list[Row]:
    return await asyncio.to_thread(_run, options)


def _run(options: Options) -> list[Row]:
    with ExitStack() as stack:
        before_root = stack.enter_context(checkout_before(options))
        fake = stack.enter_context(FakeOpenAI())
        browser = stack.enter_context(a_browser())
        before = stack.enter_context(_tab(before_root, fake, browser))
        now = stack.enter_context(_tab(ROOT, fake, browser))
        long = [(tab, _import(tab.chat)) for tab in (before, now)]
        for number in range(options.times(5, 3)):
            for tab, path in long if number % 2 else long[::-1]:
                _open(tab, path)
        for number in range(options.times(5, 1)):
            for tab in (before, now) if number % 2 else (now, before):
                _stream(tab, fake)
        _grow((before, now), fake, seconds=60 if options.quick else STREAMING)
    return _rows(before, now)


@contextmanager
def _tab(root: Path, fake: FakeOpenAI, browser: Browser) -> Iterator[Tab]:
    with application(fake.base_url, root=root) as server:
        context = browser.new_context(base_url=server.url, viewport={"width": 1280, "height": 900})
        context.set_default_timeout(PATIENCE)
        chat = Chat(context.new_page()).open()
        yield Tab(chat, context)
        context.close()


def _import(chat: Chat) -> str:
    """The path of a conversation of MESSAGES; every tenth answer is long and formatted."""
    chat.say("hello")
    messages = [
        {
            "role": "assistant" if number % 2 else "user",
            "content": f"Message number {number}. "
            + (PASSAGE.format(number=number) if number % 10 == 1 else "How deep is it? " * 6),
        }
        for number in range(MESSAGES)
    ]
    file = {
        "format": "chatsite.conversation",
        "version": 1,
        "agent": "demo",
        "title": "A long one",
        "messages": messages,
    }
    made = chat.ask("POST", "/conversations/import", json.dumps(file))
    assert made.ok, made.text()
    for _ in range(600):
        found: list[dict[str, Any]] = chat.ask("GET", "/conversations").json()["conversations"]
        ids = [one["id"] for one in found if one["title"] == "A long one"]
        if ids:
            return f"/chat/{ids[0]}"
        time.sleep(0.2)
    raise RuntimeError("the long conversation was never restored")


def _open(tab: Tab, path: str) -> None:
    """A page of its own, in a browser that knows the site's files."""
    page = tab.context.new_page()
    page.add_init_script(f"({PAUSES})(); ({APPEARS})('Message number {MESSAGES - 1}.')")
    with page.expect_console_message(lambda said: said.text.startswith("there ")) as said:
        page.goto(path, wait_until="commit")
    tab.opening.append(float(said.value.text.removeprefix("there ")))
    page.wait_for_load_state("networkidle")
    tab.opening_pause.append(_pause(page))
    tab.to_the_top.append(page.evaluate(TO_THE_TOP, "Message number 0."))
    tab.top_pause.append(_pause(page))
    page.close()


def _pause(page: Page) -> float:
    """The longest pause since it was last asked for."""
    longest = page.evaluate("() => [globalThis.longestPause, globalThis.longestPause = 0][0]")
    return float(longest)


def _stream(tab: Tab, fake: FakeOpenAI) -> None:
    """The longest pause while an answer of CHARACTERS is written, in a chat of its own."""
    chat = Chat(tab.context.new_page()).open()
    number = CHARACTERS // len(PASSAGE) + 1
    text = "".join(PASSAGE.format(number=one) for one in range(number))[:CHARACTERS]
    fake.script.append(answer(text, rate=RATE))
    chat.page.evaluate(PAUSES)
    chat.write("How deep is it?")
    expect(chat.receipt_buttons).to_have_count(1, timeout=PATIENCE)
    tab.streaming.append(_pause(chat.page))
    chat.page.close()


def _grow(tabs: tuple[Tab, ...], fake: FakeOpenAI, *, seconds: int) -> None:
    """MB that the page holds more after so many seconds of answers, a minute each. Both stream at
    the same time; the first answer, which loads and warms what is needed, isn't counted."""
    chats = [Chat(tab.context.new_page()).open() for tab in tabs]
    minute = "".join(PASSAGE.format(number=one) for one in range(40))
    held: list[float] = []
    for number in range(seconds // 60 + 1):
        for chat in chats:
            fake.script.append(answer(minute[:2_000] if number == 0 else minute, rate=50))
            chat.write(f"Part {number}, please.")
        for chat in chats:
            expect(chat.receipt_buttons).to_have_count(number + 1, timeout=PATIENCE)
        if number == 0:
            held = [_held(chat.page) for chat in chats]
    for tab, chat, first in zip(tabs, chats, held, strict=True):
        tab.growth.append(_held(chat.page) - first)


def _held(page: Page) -> float:
    """MB of the page's heap, of scripts and of the document, after everything was collected."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    usage = session.send("Runtime.getHeapUsage")
    session.detach()
    return float(usage["usedSize"] + usage.get("embedderHeapUsedSize", 0)) / 1e6


def _rows(before: Tab, now: Tab) -> list[Row]:
    rows = [
        _row(f"opening {MESSAGES:,} messages, ms until the last can be read",
             before.opening, now.opening, MOST_OPEN),
        _row("the longest pause meanwhile, ms", before.opening_pause, now.opening_pause),
        _row("scrolling up to the first of them, ms", before.to_the_top, now.to_the_top),
        _row("the longest pause meanwhile, ms", before.top_pause, now.top_pause),
        _row(f"the longest pause while {CHARACTERS:,} characters stream, ms",
             before.streaming, now.streaming, MOST_TASK),
        _row("growth over the minutes of streaming, MB", before.growth, now.growth, MOST_GROWTH),
    ]  # fmt: skip
    print(table(
        ("what", "before", "now", "ratio", "target"),
        [(row.what, row.baseline, row.ours, row.ratio, row.target) for row in rows],
    ))  # fmt: skip
    return rows


def _row(what: str, before: list[float], now: list[float], most: float | None = None) -> Row:
    holds = most is None or statistics.median(now) <= most
    return Row(
        what=what,
        baseline=spread(before, digits=1),
        ours=spread(now, digits=1),
        ratio=f"{statistics.median(ratios(now, before)):.2f}",
        target="" if most is None else f"at most {most:,}: {'holds' if holds else 'MISSED'}",
    )
