"""The embedded engine: what it saves that a conversation finds its prompt still decoded."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from tests.bench.figures import Options, Row, ratios, spread, table
from tests.bench.processes import application
from tests.person import Page, Person

TURNS = 4
# Each repetition says it of another number first, so that no slot has seen its beginning.
STORY = "In the harbour of town {} the boats lie close and the wind comes from the sea. " + (
    "A keeper counts the sails, writes the weather into a book and lights the lamp at dusk. " * 3
)
QUESTION = "What does the keeper light at dusk? Answer in one word."


@dataclass(frozen=True, slots=True)
class First:
    """A first token: milliseconds from asking, and the prompt's tokens, those kept among them."""

    millis: float
    prompt: int
    cached: int


async def run(options: Options) -> list[Row]:
    times = options.times(5, 1)
    with application(CHAT_ENGINE="auto") as server:
        async with Person(server.url) as ada:
            skipped = await _why_not(ada)
            if skipped:
                print(f"Skipped: {skipped}")
                return []
            print(
                f"The time to the first token of turn {TURNS + 1}, through the application's\n"
                "socket: of a conversation that the engine has just answered, and of a copy of it\n"
                "that was restored from a file, which the engine has to decode anew.\n"
            )
            anew, kept = [], []
            for number in range(times):
                page = await _conversation(ada, number)
                saved = await ada.ask("GET", f"/conversations/{page.conversation}/export")
                copy = await ada.ask("POST", "/conversations/import", saved)
                restored = await ada.page(copy["conversation"]["id"])
                anew.append(await _first_token(restored, QUESTION))
                kept.append(await _first_token(page, QUESTION))
                await page.close()
                await restored.close()
    return [_report(anew, kept)]


async def _why_not(ada: Person) -> str:
    """Wait for the engine; why there is nothing to measure, or an empty text."""
    page = await ada.page()
    if page.snapshot["agent"]["provider"]["kind"] != "embedded":
        return "the embedded engine isn't installed here."
    engine = page.snapshot["engine"]
    while engine["state"] == "loading":
        engine = await page.until("engine")
    await page.close()
    return "" if engine["state"] == "ready" else str(engine["sentence"])


async def _conversation(ada: Person, number: int) -> Page:
    page = await ada.page()
    for turn in range(TURNS):
        await page.send(STORY.format(f"{number + 1}, part {turn + 1},"))
        await page.until("delta")
        await page.command("stop")  # what is answered doesn't matter, only that it grows
        await page.until("turn_ended")
    return page


async def _first_token(page: Page, text: str) -> First:
    """Ask and hear the answer out: only then the engine says what it had kept."""
    asked = time.perf_counter()
    await page.send(text)
    await page.until("delta")
    millis = (time.perf_counter() - asked) * 1000
    reported = (await page.until("turn_ended"))["receipt"]["reported"]
    return First(millis, reported["prompt"] or 0, reported["cached"] or 0)


def _report(anew: list[First], kept: list[First]) -> Row:
    head = ("prompt", "answers", "prompt tokens", "of them kept", "first token, ms")
    print(
        table(
            head,
            (
                [
                    name,
                    str(len(firsts)),
                    f"{statistics.median(first.prompt for first in firsts):.0f}",
                    f"{statistics.median(first.cached for first in firsts):.0f}",
                    spread([first.millis for first in firsts], digits=0),
                ]
                for name, firsts in (("decoded anew", anew), ("kept", kept))
            ),
        )
    )
    base = [first.millis for first in anew]
    ours = [first.millis for first in kept]
    return Row(
        what="embedded engine, time to first token: decoded anew / prefix kept",
        baseline=f"{spread(base, digits=0)} ms",
        ours=f"{spread(ours, digits=0)} ms",
        ratio=spread(ratios(ours, base), digits=2),
    )
