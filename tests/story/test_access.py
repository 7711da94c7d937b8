"""Nobody finds other people's conversations; bad commands are refused and the socket stays open."""

from __future__ import annotations

import json
import uuid
from typing import Any

import aiohttp
import pytest

from tests.fakes.openai_server import FakeOpenAI
from tests.person import Page, Person
from tests.running import Server
from tests.web.test_files import wait_until

UNKNOWN_ID = str(uuid.uuid4())


async def refusal(page: Page) -> dict[str, Any]:
    event = await page.event()
    assert event["type"] == "refused", event
    return event


async def check_next_turn(page: Page) -> None:
    """A turn on the same socket completes."""
    assert (await page.say("Hello"))["state"] == "complete"


class TestAnotherOwner:
    async def test_nothing_can_be_done_in_their_conversation(
        self, server: Server, fake: FakeOpenAI
    ) -> None:
        async with Person(server.url) as ada, Person(server.url) as bob:
            mine = await ada.page()
            await mine.say("My plan")
            page = await bob.page()
            calls = len(fake.requests)
            own, page.conversation = page.conversation, mine.conversation
            await page.command("open", agent="demo")
            refusals = [await refusal(page)]
            await page.send("Let me in")
            refusals.append(await refusal(page))
            assert {(event["code"], event["message"]) for event in refusals} == {
                ("not_found", "There is no such conversation.")
            }
            preview = await page.preview("Let me in")
            assert preview["decision"] is None
            assert preview["problem"]["code"] == "not_found"
            assert len(fake.requests) == calls
            assert len((await ada.page(mine.conversation)).snapshot["messages"]) == 3
            page.conversation = own
            await check_next_turn(page)

    async def test_nobody_else_can_stop_an_answer_or_get_its_events(self, server: Server) -> None:
        async with Person(server.url) as ada, Person(server.url) as bob:
            mine = await ada.page()
            await mine.send("Count [[tokens=40;rate=40]]")
            await mine.until("delta")
            page = await bob.page()
            own, page.conversation = page.conversation, mine.conversation
            await page.command("stop")
            assert (await refusal(page))["code"] == "not_found"
            await page.send("Let me in")
            assert (await refusal(page))["code"] == "not_found"
            await page.command("open", agent="demo")
            assert (await refusal(page))["code"] == "not_found"
            ended = await mine.until("turn_ended")
            assert ended["state"] == "complete"
            page.conversation = own
            await check_next_turn(page)
            assert {event["type"] for event in page.events} <= {
                "snapshot",
                "refused",
                "turn_started",
                "decided",
                "delta",
                "turn_ended",
            }
            assert mine.conversation not in str(page.events)

    async def test_a_stranger_who_knows_the_id_takes_nobodys_place(self, server: Server) -> None:
        """Ten sends of the owner, each in the middle of a hundred tries of somebody else."""
        async with Person(server.url) as ada, Person(server.url) as bob:
            mine = await ada.page()
            await mine.say("Mine")
            theirs = await bob.page()
            theirs.conversation = mine.conversation
            for _ in range(10):
                for _ in range(10):
                    await theirs.send("Let me in")
                assert (await mine.say("Hello"))["state"] == "complete"
            for _ in range(100):
                assert (await refusal(theirs))["code"] == "not_found"

    async def test_deleting_a_conversation_stops_its_answer(
        self, server: Server, fake: FakeOpenAI
    ) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.send("Count [[tokens=4000;rate=40]]")
            await page.until("delta")
            await ada.ask("DELETE", f"/conversations/{page.conversation}")
            await wait_until(lambda: fake.seen.in_flight == 0)
            await ada.ask("POST", f"/conversations/{page.conversation}/restore")
            again = await ada.page(page.conversation)
            assert again.snapshot["turn"] is None, "it was stopped, and what was written is kept"
            assert again.snapshot["messages"][-1]["state"] == "stopped"

    async def test_a_deleted_conversation_is_not_found_either(self, server: Server) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.say("Hello")
            await ada.ask("DELETE", f"/conversations/{page.conversation}")
            await page.until("deleted")
            await page.send("Still there?")
            assert (await refusal(page))["code"] == "not_found"


class TestAgents:
    async def test_an_unknown_agent_is_not_found(self, server: Server) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            page.agent = "nobody"
            await page.send("Hello")
            assert (await refusal(page))["code"] == "not_found"
            await page.command("open", agent="nobody")
            assert (await refusal(page))["code"] == "not_found"
            page.agent = "demo"
            await check_next_turn(page)

    @pytest.mark.parametrize("agent", ["../demo", "demo/..", "", "a" * 65, "de mo", "Ö", "demo\n"])
    async def test_an_invalid_agent_name_is_a_bad_command(self, server: Server, agent: str) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            page.agent = agent
            await page.send("Hello")
            assert (await refusal(page))["code"] == "bad_command"

    async def test_another_agent_does_not_answer_in_a_conversation(
        self, server: Server, fake: FakeOpenAI
    ) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.say("Hello")
            calls = len(fake.requests)
            page.agent = "archivist"
            await page.send("And you?")
            refused = await refusal(page)
            assert refused["code"] == "bad_command" and "another agent" in refused["message"]
            preview = await page.preview("And you?")
            assert preview["decision"] is None
            assert preview["problem"]["code"] == "bad_command"
            assert len(fake.requests) == calls
            page.agent = "demo"
            await check_next_turn(page)


def frame(**fields: Any) -> str:
    base = {"type": "send", "ref": "r", "query": "", "conversation": UNKNOWN_ID, "agent": "demo"}
    whole = base | {"client_id": str(uuid.uuid4()), "text": "Hello"} | fields
    return json.dumps({key: value for key, value in whole.items() if value is not ...})


BAD_FRAMES = {
    "empty": "",
    "no JSON": "{",
    "a number": "1",
    "a list": "[]",
    "null": "null",
    "an unknown command": frame(type="shout"),
    "no command": frame(type=...),
    "a command in a list": "[" + frame() + "]",
    "no text": frame(text=...),
    "no conversation": frame(conversation=...),
    "no id": frame(conversation="no uuid"),
    "a number as id": frame(conversation=5),
    "a number as text": frame(text=5),
    "null as text": frame(text=None),
    "a field too much": frame(owner=1),
    "a ref too long": frame(ref="r" * 65),
    "a NUL": frame(text="a\0b"),
    "half a character": frame().replace("Hello", "\\ud800"),
    "half a character in the query": frame().replace('"query": ""', '"query": "\\udfff"'),
    "blanks only": frame(text=" \n\t "),
    "a not-a-number": frame().replace('"Hello"', "NaN"),
    "deep nesting": "[" * 30_000,
    "deep nesting inside": frame(text=...)[:-1] + ', "text": ' + '{"a":' * 5000 + "1" + "}" * 5001,
    "a number of many digits": frame().replace('"Hello"', "9" * 20_000),
    "a stop with a text": json.dumps({"type": "stop", "conversation": UNKNOWN_ID, "text": "x"}),
}


class TestFrames:
    @pytest.mark.parametrize("name", BAD_FRAMES)
    async def test_a_bad_frame_is_refused_and_the_socket_stays_open(
        self, server: Server, name: str
    ) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.socket.send_str(BAD_FRAMES[name])
            refused = await refusal(page)
            assert refused["code"] == "bad_command"
            assert refused["ref"] in ("r", "")
            await check_next_turn(page)

    async def test_the_refusal_names_the_frame(self, server: Server) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.socket.send_str(frame(text=5))
            refused = await refusal(page)
            assert refused["ref"] == "r"
            assert refused["message"].startswith("This command isn't understood: send.text: ")

    async def test_bytes_are_refused(self, server: Server) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            await page.socket.send_bytes(b"\xff\x00")
            assert (await refusal(page))["code"] == "bad_command"
            await check_next_turn(page)

    async def test_64_kib_go_through_and_more_closes_with_1009(self, server: Server) -> None:
        async with Person(server.url) as ada:
            page = await ada.page()
            room = 65_536 - len(frame(text="", conversation=page.conversation))
            await page.socket.send_str(frame(text="x" * room, conversation=page.conversation))
            assert (await page.until("turn_ended"))["state"] == "complete"
            await page.socket.send_str(frame(text="x" * (room + 1)))
            message = await page.socket.receive(10)
            assert message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED), message
            assert page.socket.close_code == 1009
            again = await ada.page(page.conversation)
            assert len(again.snapshot["messages"]) == 3
            await check_next_turn(again)


class TestHandshake:
    async def test_without_a_session_the_socket_closes_with_4401(self, server: Server) -> None:
        async with aiohttp.ClientSession() as stranger:
            socket = await stranger.ws_connect(f"{server.url}/ws", headers={"Origin": server.url})
            await socket.send_str(frame())
            message = await socket.receive(10)
            assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 4401)
            await socket.close()

    @pytest.mark.parametrize("origin", ["", "null", "http://evil.example", "https://127.0.0.1"])
    async def test_a_foreign_origin_is_refused(self, server: Server, origin: str) -> None:
        async with Person(server.url) as ada:
            headers = {"Origin": origin} if origin else {}
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await ada.http.ws_connect(f"{server.url}/ws", headers=headers)
            assert refused.value.status == 403

    async def test_an_unknown_session_cookie_closes_the_socket_with_4401(
        self, server: Server
    ) -> None:
        async with aiohttp.ClientSession(cookies={"sessionid": "x" * 32}) as stranger:
            socket = await stranger.ws_connect(f"{server.url}/ws", headers={"Origin": server.url})
            message = await socket.receive(10)
            assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 4401)
            await socket.close()


class TestSigningIn:
    async def test_a_running_answer_goes_on_and_can_be_stopped(self, server: Server) -> None:
        server.add_user("joan", "enumerations-1962")
        async with Person(server.url) as joan:
            page = await joan.page()
            await page.send("Count [[tokens=400;rate=40]]")
            await page.until("delta")
            await joan.sign_in("joan", "enumerations-1962")
            again = await joan.page(page.conversation)
            assert again.snapshot["turn"] is not None
            await again.send("Not now")
            assert (await again.until("refused"))["code"] == "turn_running"
            await again.command("stop")
            ended = await again.until("turn_ended")
            assert ended["state"] == "stopped" and ended["message"]["content"]
            await check_next_turn(again)

    async def test_what_a_guest_wrote_is_theirs_afterwards_and_nobody_elses(
        self, server: Server
    ) -> None:
        server.add_user("mary", "ganymede-1955")
        async with Person(server.url) as guest, Person(server.url) as other:
            page = await guest.page()
            await page.say("Mine")
            theirs = await other.page()
            await theirs.say("Theirs")
            await guest.sign_in("mary", "ganymede-1955")
            listed = await guest.ask("GET", "/conversations")
            assert [c["id"] for c in listed["conversations"]] == [page.conversation]
            async with Person(server.url) as elsewhere:
                await elsewhere.sign_in("mary", "ganymede-1955")
                again = await elsewhere.page(page.conversation)
                assert again.snapshot["messages"][1]["content"] == "Mine"
            assert (await other.ask("GET", "/conversations"))["count"] == 1
