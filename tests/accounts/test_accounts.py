"""Signing up, in and out: a guest's own conversations move to the account, and only once."""

from __future__ import annotations

import secrets

import aiohttp
import pytest

from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import Answer, ask, ask_from_page, submit
from tests.web.conftest import STAFF

PASSWORD = secrets.token_urlsafe(12)


def new_name() -> str:
    return f"ada-{secrets.token_hex(4)}"


async def sign_up(person: Person, name: str, *, repeated: str = PASSWORD) -> Answer:
    return await submit(
        person, "/accounts/signup/", username=name, password1=PASSWORD, password2=repeated
    )


async def conversation_titles(person: Person) -> list[str]:
    found = await person.ask("GET", "/conversations")
    return [conversation["title"] for conversation in found["conversations"]]


async def sign_out(person: Person) -> None:
    """Sign out as a browser does, which then opens the page that it is redirected to."""
    answer = await ask_from_page(person, "POST", "/accounts/logout/")
    assert (answer.status, answer.headers["location"]) == (302, "/chat")
    assert (await ask(person, "GET", "/chat")).status == 200
    await person.obtain_session()


async def begin_conversation(person: Person, text: str) -> str:
    page = await person.page()
    await page.say(text)
    return page.conversation


async def test_who_signs_up_is_told_which_chats_of_this_browser_come_along(server: Server) -> None:
    async with Person(server.url) as ada:
        page = await ada.page()
        await page.say("Where is the <b>quay</b>?")
        async with ada.http.get(f"{server.url}/accounts/signup/") as answer:
            said = await answer.text()
        assert "<li>Where is the &lt;b&gt;quay&lt;/b&gt;?</li>" in said
        assert "If they aren&#x27;t yours" in said or "If they aren't yours" in said
    async with (
        Person(server.url) as bob,
        bob.http.get(f"{server.url}/accounts/signup/") as answer,
    ):
        assert "<li>" not in (await answer.text()).partition("<form")[0]


async def test_a_guests_own_conversations_alone_move_at_sign_up(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as bob:
        await begin_conversation(ada, "By Ada")
        await begin_conversation(bob, "By Bob")
        signed = await sign_up(ada, name := new_name())
        assert (signed.status, signed.headers["location"]) == (302, "/chat")
        assert await conversation_titles(ada) == ["By Ada"]
        assert await conversation_titles(bob) == ["By Bob"]
        assert f'"name": "{name}", "signed_in": true' in (await ask(ada, "GET", "/chat")).text


async def test_conversations_of_a_guest_move_once(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as eve:
        await begin_conversation(ada, "By Ada")
        await sign_up(ada, name := new_name())
        await sign_out(ada)
        await begin_conversation(ada, "As a guest again")
        await sign_up(ada, new_name())
        assert await conversation_titles(ada) == ["As a guest again"]
        await begin_conversation(eve, "At another computer")
        await eve.sign_in(name, PASSWORD)
        assert await conversation_titles(eve) == ["At another computer", "By Ada"]


async def test_signing_in_at_the_admin_moves_conversations_too(server: Server) -> None:
    async with Person(server.url) as grace:
        conversation = await begin_conversation(grace, title := f"By Grace {secrets.token_hex(4)}")
        name, password = STAFF
        signed = await submit(grace, "/admin/login/", username=name, password=password)
        assert signed.status == 302
        assert title in await conversation_titles(grace)
        assert (await grace.page(conversation)).snapshot["conversation"]["title"] == title


async def test_after_signing_out_a_guest_sees_no_conversations(server: Server) -> None:
    async with Person(server.url) as ada:
        await sign_up(ada, new_name())
        conversation = await begin_conversation(ada, "Private")
        before = ada.cookie("session")
        await sign_out(ada)
        assert await conversation_titles(ada) == []
        assert ada.cookie("session") not in ("", before)
        assert (await ask(ada, "GET", f"/chat/{conversation}")).status == 404
        page = await ada.page()
        await page.command("open", conversation=conversation, agent="demo")
        assert (await page.event())["code"] == "not_found"
        await begin_conversation(ada, "As another guest")
        assert await conversation_titles(ada) == ["As another guest"]


async def test_the_session_from_before_signing_in_gives_no_access(server: Server) -> None:
    async with Person(server.url) as ada:
        before = ada.cookie("session")
        await sign_up(ada, new_name())
        assert ada.cookie("session") != before
        async with aiohttp.ClientSession(cookies={ada.name_of("session"): before}) as thief:
            socket = await thief.ws_connect(f"{server.url}/ws", headers={"Origin": server.url})
            message = await socket.receive(10)
            assert message.data == 4401
            await socket.close()


async def test_a_wrong_password_signs_nobody_in_and_reveals_no_user_names(server: Server) -> None:
    async with Person(server.url) as eve:
        known = await submit(eve, "/accounts/login/", username=STAFF[0], password="wrong")
        unknown = await submit(eve, "/accounts/login/", username="nobody", password="wrong")
        assert known.status == unknown.status == 200
        said = "Please enter a correct username and password"
        assert said in known.text and said in unknown.text
        assert '"signed_in": false' in (await ask(eve, "GET", "/chat")).text


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"password1": PASSWORD, "password2": "another"}, "match"),
        ({"password1": "12345678", "password2": "12345678"}, "entirely numeric"),
        ({"password1": "short", "password2": "short"}, "too short"),
        ({"username": STAFF[0], "password1": PASSWORD, "password2": PASSWORD}, "already exists"),
        ({"username": "a\0b", "password1": PASSWORD, "password2": PASSWORD}, "Null characters"),
        ({"username": "x" * 200, "password1": PASSWORD, "password2": PASSWORD}, "at most 150"),
        ({}, "required"),
    ],
)
async def test_a_refused_sign_up_says_why(
    form: dict[str, str], expected: str, server: Server
) -> None:
    async with Person(server.url) as ada:
        answer = await submit(ada, "/accounts/signup/", **({"username": new_name()} | form))
        assert answer.status == 200
        assert expected in answer.text
        assert '"signed_in": false' in (await ask(ada, "GET", "/chat")).text


@pytest.mark.parametrize("next", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
async def test_signing_in_redirects_to_no_other_site(next: str, server: Server) -> None:
    async with Person(server.url) as grace:
        name, password = STAFF
        path = "/accounts/login/"
        signed = await submit(grace, path, username=name, password=password, next=next)
        assert (signed.status, signed.headers["location"]) == (302, "/chat")
