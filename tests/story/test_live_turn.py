"""A turn while it runs: several pages, Stop, resends, caps, failures, and a server that stops."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.running import ROOT, Server
from tests.story.conftest import KEY, provider_environment

PACED = "[[tokens=60;rate=40]]"
WHOLE = "".join(f" w{n}" for n in range(60))


async def until(condition: Callable[[], bool], *, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it didn't happen"
        await asyncio.sleep(0.02)


async def follow(page: Page, text: str = "") -> tuple[str, dict[str, Any]]:
    """Read a turn from the page's snapshot (or `text`) on; return the answer and the last event."""
    turn = page.snapshot["turn"]
    text = turn["text"] if turn else text
    while True:
        event = await page.event()
        match event["type"]:
            case "turn_started" if not event["resent"]:
                text = ""
            case "delta":
                assert event["offset"] == len(text), "lost or doubled"
                text += event["text"]
            case "turn_ended":
                return text, event
            case "refused":
                raise AssertionError(event)


async def first_words(page: Page, count: int = 5) -> str:
    """Wait for some words of the answer."""
    text = ""
    while len(text.split()) < count:
        text += (await page.until("delta"))["text"]
    return text


def count_requests(fake: FakeOpenAI, text: str) -> int:
    """How many requests ended with this text."""
    return sum(request["messages"][-1]["content"] == text for request in fake.requests)


def contents(folder: Path) -> list[str]:
    """The bytes of every file in the folder, one character a byte."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [file.read_bytes().decode("latin-1") for file in files]


class TestSeveralPages:
    async def test_a_page_that_joins_in_the_middle_gets_the_whole_answer_once(
        self, server: Server
    ) -> None:
        choose = random.Random(4)
        async with Person(server.url) as ada:
            page = await ada.page()

            async def join(after: float) -> tuple[str, dict[str, Any]]:
                await asyncio.sleep(after)
                other = await ada.page(page.conversation)
                if other.snapshot["turn"] is None:
                    return other.snapshot["messages"][-1]["content"], {}
                found = await follow(other)
                await other.close()
                return found

            await page.send(f"Count {PACED}")
            await page.until("turn_started")
            joining = [join(choose.uniform(0, 1.4)) for _ in range(24)]
            (_, ended), *others = await asyncio.gather(follow(page), *joining)
            assert ended["message"]["content"] == WHOLE
            for text, same in others:
                assert WHOLE.startswith(text)
                assert not same or same == ended
            assert sum(bool(same) for _, same in others) > 12

    async def test_a_dropped_connection_loses_nothing(self, server: Server) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.send(f"Count {PACED}")
            await first_words(page)
            transport = page.socket.get_extra_info("socket")
            transport.shutdown(2)
            again = await ada.page(page.conversation)
            text, ended = await follow(again)
            assert WHOLE.startswith(text) and ended["message"]["content"] == WHOLE

    async def test_closing_every_page_is_not_stop(self, server: Server) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.send(f"Count {PACED}")
            await first_words(page)
            await page.close()
            again = await ada.page(page.conversation)
            assert again.snapshot["turn"] is not None
            _, ended = await follow(again)
            assert ended["state"] == "complete"
            assert ended["message"]["content"] == WHOLE

    async def test_stop_works_from_another_page(self, server: Server, fake: FakeOpenAI) -> None:
        aborts = fake.client_aborts
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.send("Count [[tokens=400;rate=40]]")
            seen = await first_words(page)
            other = await ada.page(page.conversation)
            await other.command("stop")
            (_, ended), (_, same) = await asyncio.gather(follow(page, seen), follow(other))
            assert ended == same
            assert (ended["state"], ended["problem"]) == ("stopped", None)
            assert ended["message"]["content"].startswith(seen)
            await until(lambda: fake.client_aborts == aborts + 1)
            opened = (await ada.page(page.conversation)).snapshot
            assert opened["turn"] is None
            assert opened["messages"][-1] == ended["message"]
            assert opened["messages"][-1]["state"] == "stopped"
            assert (await other.say("And on?"))["state"] == "complete"

    async def test_stop_before_the_first_word_keeps_the_question_alone(
        self, server: Server
    ) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.send("Count [[first=9]]")
            await page.until("decided")
            await page.command("stop")
            ended = await page.until("turn_ended")
            assert (ended["state"], ended["message"]) == ("stopped", None)
            opened = (await ada.page(page.conversation)).snapshot
            assert opened["messages"][-1]["role"] == "user"

    async def test_a_second_message_is_refused_while_an_answer_runs(
        self, server: Server, fake: FakeOpenAI
    ) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.send(f"Count {PACED}")
            await page.until("turn_started")
            other = await ada.page(page.conversation)
            await other.send("Not now")
            refused = await other.until("refused")
            assert refused["code"] == "turn_running" and "kept" in refused["message"]
            answer = await ada.ask("POST", f"/conversations/{page.conversation}/clear", expect=409)
            assert answer["code"] == "turn_running"
            _, ended = await follow(page)
            assert ended["message"]["content"] == WHOLE
            assert count_requests(fake, "Not now") == 0
            assert (await other.say("Not now"))["state"] == "complete"

    async def test_renaming_clearing_and_deleting_reach_every_page(self, server: Server) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.say("Hello")
            path = f"/conversations/{page.conversation}"
            other = await ada.page(page.conversation)
            await ada.ask("PATCH", path, {"title": "  Otters  and more "})
            assert (await other.until("renamed"))["title"] == "Otters and more"
            await ada.ask("POST", f"{path}/clear")
            await other.until("cleared")
            assert (await other.open())["messages"] == []
            await ada.ask("DELETE", path)
            await other.until("deleted")
            await ada.ask("POST", f"{path}/restore")
            assert (await other.open())["conversation"]["title"] == "Otters and more"


class TestResending:
    async def test_one_message_on_three_sockets_is_stored_and_answered_once(
        self, server: Server, fake: FakeOpenAI
    ) -> None:
        text, client_id = f"Once {uuid.uuid4()}", str(uuid.uuid4())
        async with Person(server.url) as ada:
            first = await ada.page()
            pages = [first, *[await ada.page(first.conversation) for _ in range(2)]]
            await asyncio.gather(*(page.send(text, client_id=client_id) for page in pages))
            ends = await asyncio.gather(*(page.until("turn_ended") for page in pages))
            assert len({ended["turn"] for ended in ends}) == 1
            assert count_requests(fake, text) == 1
            again = await ada.page(first.conversation)
            roles = [message["role"] for message in again.snapshot["messages"]]
            assert roles.count("user") == 1

    async def test_a_resend_after_the_end_finds_the_turn(
        self, server: Server, fake: FakeOpenAI
    ) -> None:
        text, client_id = f"Once {uuid.uuid4()}", str(uuid.uuid4())
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.send(text, client_id=client_id)
            ended = await page.until("turn_ended")
            await page.send(text, client_id=client_id)
            started = await page.until("turn_started")
            assert started["resent"] and started["turn"] == ended["turn"]
            assert count_requests(fake, text) == 1


@pytest.mark.slow
async def test_answers_at_once_are_capped_for_an_owner_and_for_all(
    fake: FakeOpenAI, folder: Path
) -> None:
    caps = {"MAX_ANSWERS_PER_OWNER": "2", "MAX_ANSWERS": "3", "DEBUG": "true"}
    text = "Wait [[tokens=2;first=3]]"
    with Server(folder, **provider_environment(fake, **caps)) as server:
        async with Person(server.url) as ada, Person(server.url) as bob:
            pages = [await ada.page() for _ in range(6)]
            await asyncio.gather(*(page.send(text) for page in pages))
            events = await asyncio.gather(*(p.until("turn_started", "refused") for p in pages))
            assert sum(event["type"] == "turn_started" for event in events) == 2
            codes = {event["code"] for event in events if event["type"] == "refused"}
            assert codes == {"too_many"}
            one, two = await bob.page(), await bob.page()
            await one.send(text)
            await one.until("turn_started")
            await two.send(text)
            refused = await two.until("refused")
            assert refused["code"] == "too_many" and "kept" in refused["message"]
            assert fake.in_flight <= 3
            await one.until("turn_ended")
            assert (await two.say("Now?"))["state"] == "complete"


FAILURES = [
    ("mode=401", "failed", "key_refused", ""),
    ("mode=400", "failed", "bad_request", ""),
    ("mode=404", "failed", "model_unknown", ""),
    ("mode=429;retry_after=0", "failed", "rate_limited", ""),
    ("mode=quota", "failed", "quota", ""),
    ("mode=too_large", "failed", "too_large", ""),
    ("mode=500;retry_after=0", "failed", "provider_down", ""),
    ("mode=503;retry_after=0", "failed", "provider_down", ""),
    ("mode=empty", "failed", "empty_answer", ""),
    ("mode=cut;at=0", "failed", "interrupted", ""),
    ("mode=cut", "interrupted", "interrupted", " w0 w1 w2 w3 w4"),
    ("mode=cleancut", "interrupted", "interrupted", " w0 w1 w2 w3 w4"),
    ("mode=error_event", "interrupted", "failed_midway", " w0 w1 w2 w3 w4"),
    ("mode=malformed", "interrupted", "malformed", " w0 w1 w2 w3 w4"),
]


class TestFailures:
    @pytest.mark.parametrize(("directive", "state", "code", "text"), FAILURES)
    async def test_each_failure_is_explained_and_keeps_the_text_written_so_far(
        self, server: Server, directive: str, state: str, code: str, text: str
    ) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            ended = await page.say(f"Hello [[{directive}]]")
            assert (ended["state"], ended["problem"]["code"]) == (state, code)
            assert "kept" in ended["problem"]["message"]
            assert (ended["message"] or {"content": ""})["content"] == text
            assert ended["receipt"]["facts"]["sent"] == 1
            again = (await ada.page(page.conversation)).snapshot
            assert again["turn"] is None
            assert again["messages"][-1]["role"] == ("assistant" if text else "user")
            assert (await page.say("And now?"))["state"] == "complete"

    @pytest.mark.parametrize("reason", ["length", "content_filter"])
    async def test_an_answer_cut_by_the_provider_says_so(self, server: Server, reason: str) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            ended = await page.say(f"Hello [[mode={reason}]]")
            assert (ended["state"], ended["problem"]) == ("complete", None)
            assert ended["message"]["finish_reason"] == reason

    async def test_a_message_larger_than_the_window_fails_before_any_call(
        self, fake: FakeOpenAI, folder: Path
    ) -> None:
        environment = provider_environment(fake, DEBUG="true", HISTORY_TOKENS="500")
        with Server(folder, **environment) as server:
            async with Person(server.url) as ada:
                page = await ada.page()
                calls = len(fake.requests)
                draft = "word " * 2000
                preview = await page.preview(draft)
                assert preview["decision"] is None
                assert preview["problem"]["code"] == "prompt_too_large"
                assert "Nothing was sent" not in preview["problem"]["message"]
                would = preview["too_large"]
                assert would["prompt_tokens"] > would["limit"] == 500
                parts = {part["name"]: part["tokens"] for part in would["parts"]}
                assert parts["current"] > 1_000 and parts["history"] == 0
                await page.send(draft)
                assert (await page.until("refused"))["code"] == "prompt_too_large"
                assert len(fake.requests) == calls
                assert (await page.say("Short"))["state"] == "complete"

    async def test_the_key_is_found_nowhere(self, fake: FakeOpenAI, folder: Path) -> None:
        """Not in frames, pages, the log or the database, even with the loggers at debug level."""
        found: list[str] = []
        with Server(
            folder, **provider_environment(fake, DEBUG="true", OPENAI_LOG="debug")
        ) as server:
            async with Person(server.url) as ada:
                page = await ada.page(query="debug=true")
                for directive, *_ in FAILURES:
                    ended = await page.say(f"Hello [[{directive}]]")
                    for kind in ("receipt", "request"):
                        answer = await ada.ask("GET", f"/turns/{ended['turn']}/{kind}")
                        found.append(str(answer))
                found.append(str(page.events))
                for path in ("/chat?debug=true", f"/chat/{page.conversation}", "/nowhere"):
                    async with ada.http.get(server.url + path) as response:
                        found.append(await response.text())
            server.stop()
            found.append(server.log)
        found += contents(folder)
        assert any("w0 w1" in text for text in found)
        for text in found:
            assert KEY not in text
            assert "sk-secret" not in text and "secret.example" not in text


@pytest.mark.slow
class TestStoppingTheServer:
    @pytest.mark.thorough
    async def test_a_killed_server_loses_at_most_the_last_second_of_text(
        self, fake: FakeOpenAI, folder: Path
    ) -> None:
        with Server(folder, **provider_environment(fake, DEBUG="true")) as server:
            async with Person(server.url) as ada:
                page = await ada.page()
                await page.send("Count [[tokens=900;rate=40]]")
                text, times = "", []
                begun = time.monotonic()
                while time.monotonic() < begun + 2.6:
                    text += (await page.until("delta"))["text"]
                    times.append((time.monotonic(), text))
                killed = time.monotonic()
                server.kill()
                old = next(text for moment, text in reversed(times) if moment < killed - 1.3)
                server.start()
                again = await ada.page(page.conversation)
                assert again.snapshot["turn"] is None
                stored = again.snapshot["messages"][-1]
                assert stored["state"] == "interrupted"
                assert stored["content"].startswith(old) and text.startswith(stored["content"])
                receipt = await ada.ask("GET", f"/turns/{stored['turn']}/receipt")
                assert receipt["facts"]["policy"] == "lastN"
                assert (await again.say("And on?"))["state"] == "complete"
                assert fake.requests[-1]["messages"][-2]["content"] == stored["content"]

    async def test_sigterm_lets_an_answer_end_and_makes_the_pages_reconnect(
        self, fake: FakeOpenAI, folder: Path
    ) -> None:
        with Server(folder, **provider_environment(fake, DEBUG="true")) as server:
            async with Person(server.url) as ada:
                page = await ada.page()
                await page.send(f"Count {PACED}")
                await first_words(page)
                assert server.process is not None
                server.process.send_signal(signal.SIGTERM)
                while (message := await page.socket.receive()).type == aiohttp.WSMsgType.TEXT:
                    pass
                assert page.socket.close_code == 1012, message
                ended = await asyncio.to_thread(server.process.wait, 30)
                assert ended in (0, -signal.SIGTERM)
                server.start()
                again = await ada.page(page.conversation)
                stored = again.snapshot["messages"][-1]
                assert (stored["state"], stored["content"]) == ("complete", WHOLE)

    async def test_a_second_server_in_the_same_folder_is_refused(
        self, fake: FakeOpenAI, folder: Path
    ) -> None:
        with Server(folder, **provider_environment(fake, DEBUG="true")) as server:
            async with Person(server.url) as ada:
                page = await ada.page()
                await page.send(f"Count {PACED}")
                await page.until("turn_started")
                second = Server(folder, **provider_environment(fake, DEBUG="true"))
                done = await asyncio.to_thread(
                    subprocess.run,
                    [sys.executable, "manage.py", "serve"],
                    cwd=ROOT,
                    env=second.environment,
                    capture_output=True,
                    text=True,
                    timeout=60,
                )
                assert done.returncode != 0
                output = done.stdout + done.stderr
                assert f"Another server already uses {folder}." in output
                assert "Stop it first, or set VAR_DIR." in output
                assert "Traceback" not in output
                _, ended = await follow(page)
                assert ended["message"]["content"] == WHOLE
