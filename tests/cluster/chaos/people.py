"""People who at random talk, stop, edit, ask again, reload, change servers, mark and rename."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random

import aiohttp

from tests.cluster.chaos.page import CONNECT_SECONDS, ShownPage
from tests.cluster.chaos.record import Record, now
from tests.person import Person

# Seconds that somebody looks before they do the next thing.
PAUSES = (1.0, 6.0)
MOST_CONVERSATIONS, MOST_PAGES = 3, 3
# How the provider answers, by how often of a hundred; the others are answered whole.
FAILURES = {
    "mode=500": 3,
    "mode=503;fails=1": 3,
    "mode=cut;at=8": 4,
    "mode=cleancut;at=8": 3,
    "mode=error_event;at=8": 3,
    "mode=hang;at=8": 3,
    "mode=hang0": 2,
}


def words_of(key: str, count: int) -> str:
    """What is answered: no word comes twice, so that a missing or a doubled one shows."""
    return " ".join(f"{key}.{number}" for number in range(count))


def question(key: str, random: Random, failures: Mapping[str, int]) -> str:
    """What nobody else says, with what the provider answers."""
    count = random.choice((5, 20, 40, 80, 200))
    rate = random.choice((20, 40, 60)) if count < 200 else 40
    kinds, weights = ["", *failures], [100 - sum(failures.values()), *failures.values()]
    failure = random.choices(kinds, weights)[0]
    parts = [f"text={words_of(key, count)}", f"rate={rate}", *([failure] if failure else [])]
    return f"{key}? [[{';'.join(parts)}]]"


def expected_answer(text: str) -> str:
    """What the provider says to such a question, if nothing goes wrong."""
    return text.partition("[[text=")[2].partition(";rate=")[0]


class Talker:
    """One person with a few conversations, in several pages at a time."""

    def __init__(
        self,
        number: int,
        addresses: Sequence[str],
        seed: int,
        record: Record,
        *,
        failures: Mapping[str, int] = FAILURES,
    ) -> None:
        self.name = f"p{number}"
        self.addresses = addresses
        self.random = Random(f"{seed} {self.name}")
        self.record, self.failures = record, failures
        self.pages: list[ShownPage] = []
        self.conversations: list[str] = []
        self._said = 0

    async def come(self) -> None:
        self.person = await Person(self.random.choice(self.addresses)).__aenter__()
        self._open(self._new_conversation())

    async def go(self) -> None:
        for page in self.pages:
            await page.close()
        await self.person.http.close()

    async def talk(self, until: float) -> None:
        while now() < until:
            await asyncio.sleep(self.random.uniform(*PAUSES))
            await self._act()

    async def settle(self) -> bool:
        """Send what was refused again and stop what hangs; whether nothing is left to wait for."""
        calm = True
        for page in self.pages:
            if page.failed is not None:
                raise page.failed
            if page.opened and page.turn is None and page.drafts and not page.pending:
                await page.send(page.drafts.pop())
            elif page.turn is not None and "mode=hang" in self._asked_in(page):
                await page.stop()
            calm = calm and page.opened and page.turn is None
            calm = calm and not page.drafts and not page.pending
        return calm

    def waits_for(self) -> str:
        """Why `settle` isn't done."""
        found = [
            f"{page.conversation} at {page.url}: opened {page.opened}, "
            f"pending {len(page.pending)}, drafts {len(page.drafts)}, "
            f"turn {page.turn and page.turn['id']}"
            for page in self.pages
            if not page.opened or page.turn or page.pending or page.drafts
        ]
        return f"{self.name}: {'; '.join(found)}" if found else ""

    def _asked_in(self, page: ShownPage) -> str:
        asked = [one for one in page.path if one["role"] == "user"]
        return str(asked[-1]["content"]) if asked else ""

    # ---- pages ---------------------------------------------------------------------------------
    def _new_conversation(self) -> str:
        id = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        self.conversations.append(id)
        return id

    def _open(self, conversation: str) -> None:
        """Half of all pages ask the proxy; the others ask any server, and another one when that
        doesn't answer."""
        proxy, servers = self.addresses[:1], self.addresses[1:]
        addresses = servers if servers and self.random.random() < 0.5 else proxy
        page = ShownPage(
            self.person,
            conversation,
            address=lambda: self.random.choice(addresses),
            random=self.random,
            record=self.record,
        )
        self.pages.append(page)

    def _text(self) -> str:
        self._said += 1
        return question(f"{self.name}-{self._said}", self.random, self.failures)

    # ---- what is done --------------------------------------------------------------------------
    async def _act(self) -> None:
        page = self.random.choice(self.pages)
        actions: dict[Callable[[ShownPage], Awaitable[str]], int] = {
            self._say: 12,
            self._reload: 2,
            self._open_another: 2,
            self._close: 1,
            self._mark: 2,
            self._rename: 1,
        }
        if page.turn is not None:
            actions = {self._stop: 3, self._reload: 2, self._open_another: 2, self._look: 8}
        elif page.path and not page.pending and not page.drafts:
            actions |= {self._edit: 2, self._again: 2}
        act = self.random.choices(list(actions), list(actions.values()))[0]
        done = await act(page)
        if done:
            self.record.counts[done] += 1

    async def _look(self, page: ShownPage) -> str:
        return ""

    async def _say(self, page: ShownPage) -> str:
        if page.pending:
            return ""
        if page.drafts:
            await page.send(page.drafts.pop())
            return "sent again after a refusal"
        text = self._text()
        self.record.texts[text] = page.conversation
        self.record.insisted.add(text)
        await page.send(text)
        return "sent"

    async def _stop(self, page: ShownPage) -> str:
        await page.stop()
        return "stopped"

    async def _edit(self, page: ShownPage) -> str:
        asked = [one for one in page.path if one["role"] == "user"]
        if not asked:
            return ""
        message = self.random.choice(asked)
        text = self._text()
        self.record.texts[text] = page.conversation
        await page.ask_otherwise("edit", message["id"], text)
        return "edited"

    async def _again(self, page: ShownPage) -> str:
        last = page.path[-1]
        if last["role"] == "assistant" and last["turn"] is None:  # a greeting
            return ""
        await page.ask_otherwise("again", last["id"])
        return "asked again"

    async def _reload(self, page: ShownPage) -> str:
        await page.move()
        return "reloaded"

    async def _open_another(self, page: ShownPage) -> str:
        if len(self.pages) >= MOST_PAGES:
            return ""
        if len(self.conversations) < MOST_CONVERSATIONS and self.random.random() < 0.3:
            self._open(self._new_conversation())
            return "chats begun"
        self._open(page.conversation)
        return "pages opened beside another"

    async def _close(self, page: ShownPage) -> str:
        if len(self.pages) == 1 or page.pending or page.drafts:
            return ""
        self.pages.remove(page)
        await page.close()
        return "pages closed"

    async def _mark(self, page: ShownPage) -> str:
        asked = [one for one in page.path if one["role"] == "user"]
        if not asked:
            return ""
        message = self.random.choice(asked)
        await self._change(page, f"/messages/{message['id']}", pinned=not message["pinned"])
        return "marked"

    async def _rename(self, page: ShownPage) -> str:
        if not page.title:
            return ""
        self._said += 1
        await self._change(
            page, f"/conversations/{page.conversation}", title=f"{self.name} {self._said}"
        )
        return "renamed"

    async def _change(self, page: ShownPage, path: str, **fields: object) -> None:
        with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with asyncio.timeout(CONNECT_SECONDS):
                headers = self.person.headers() | {"Origin": page.url}
                url = page.url + path
                async with self.person.http.patch(url, json=fields, headers=headers) as answer:
                    self.record.counts[f"changes answered with {answer.status}"] += 1
