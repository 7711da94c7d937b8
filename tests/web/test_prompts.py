"""Prompts that a person keeps: whose they are, what fits, and where they go with their owner."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from django.contrib.auth.models import User

from chatsite.accounts.removal import release_piece, remove_account
from chatsite.conversations.lifecycle import move_to_account
from chatsite.conversations.owners import Owner
from chatsite.errors import Refused
from chatsite.prompts.models import MAX_NAME, MAX_TEXT, Prompt
from chatsite.prompts.prompts import MOST, keep_prompt, list_prompts
from tests.person import Person
from tests.running import Server
from tests.web.browser_requests import ask, ask_from_page, submit

ADA, BOB = Owner(guest="ada"), Owner(guest="bob")


async def kept(person: Person, name: str, text: str = "Write.") -> dict[str, Any]:
    found: dict[str, Any] = await person.ask("POST", "/prompts", {"name": name, "text": text})
    return dict(found["prompt"])


async def names(person: Person) -> list[str]:
    found = await person.ask("GET", "/prompts")
    return [one["name"] for one in found["prompts"]]


async def test_a_prompt_is_kept_changed_and_deleted_by_its_owner_alone(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as eve:
        one = await kept(ada, "/ tides ", "About {{topic}}")
        assert (one["name"], one["text"]) == ("tides", "About {{topic}}")
        assert await names(eve) == []
        path = f"/prompts/{one['id']}"
        for method, body in (("PUT", {"name": "mine", "text": "x"}), ("DELETE", None)):
            refused = await eve.ask(method, path, body, expect=404)
            assert refused["message"] == "There is no such prompt."
        await ada.ask("PUT", path, {"name": "Tides", "text": "Otherwise"})
        assert await names(ada) == ["Tides"]
        await ada.ask("DELETE", path)
        assert await names(ada) == []


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"name": "a"}, "A prompt has a name and a text."),
        ({"name": 1, "text": "a"}, "A prompt has a name and a text."),
        ({"name": " / ", "text": "a"}, "A name has 1 to 40 characters."),
        ({"name": "n" * (MAX_NAME + 1), "text": "a"}, "A name has 1 to 40 characters."),
        ({"name": "a", "text": " \n"}, "A prompt has 1 to 8,000 characters; this one has 2."),
        (
            {"name": "a", "text": "t" * (MAX_TEXT + 1)},
            "A prompt has 1 to 8,000 characters; this one has 8,001.",
        ),
        ({"name": "a\0b", "text": "a"}, "This text holds characters that can't be stored."),
    ],
)
async def test_what_doesnt_fit_is_refused_in_words(server: Server, body: Any, why: str) -> None:
    async with Person(server.url) as ada:
        assert (await ada.ask("POST", "/prompts", body, expect=400))["message"] == why
        assert await names(ada) == []


async def test_a_name_stands_for_one_prompt(server: Server) -> None:
    async with Person(server.url) as ada:
        await kept(ada, "tides")
        other = await kept(ada, "waves")
        again = {"name": "tides", "text": "x"}
        for method, path in (("POST", "/prompts"), ("PUT", f"/prompts/{other['id']}")):
            refused = await ada.ask(method, path, again, expect=409)
            assert "already" in refused["message"], path
        await ada.ask("PUT", f"/prompts/{other['id']}", {"name": "waves", "text": "New"})


async def test_somebody_without_a_session_keeps_nothing(server: Server) -> None:
    async with Person(server.url) as ada:
        for cookie in ada.cookies():
            if cookie.key == ada.name_of("session"):
                ada.http.cookie_jar.clear(lambda one, key=cookie.key: one.key == key)  # type: ignore[misc]
        answer = await ask_from_page(
            ada, "POST", "/prompts", data='{"name": "a", "text": "b"}', type="application/json"
        )
        assert answer.status == 400


async def test_a_guests_prompts_are_the_accounts_after_signing_up_and_in_its_export(
    server: Server,
) -> None:
    async with Person(server.url) as ada:
        await kept(ada, "tides", "About the moon")
        password = "tidal-forces-1687"
        await submit(
            ada, "/accounts/signup/", username="newton", password1=password, password2=password
        )
        assert await names(ada) == ["tides"]
        export = await ask(ada, "GET", "/accounts/export/")
        with zipfile.ZipFile(io.BytesIO(export.body)) as archive:
            assert json.loads(archive.read("prompts.json"))[0]["text"] == "About the moon"


@pytest.mark.django_db(transaction=True)
def test_a_taken_name_gets_a_number_at_sign_in_and_nobody_elses_move() -> None:
    user = User.objects.create_user("ada").pk
    long = "n" * MAX_NAME
    for owner, text in ((Owner(user=user), "account's"), (ADA, "guest's"), (BOB, "bob's")):
        keep_prompt.here(owner=owner, name="tides", text=text)
        keep_prompt.here(owner=owner, name=long, text=text)
    move_to_account.here(guest="ada", user=user)
    found = {one["name"]: one["text"] for one in list_prompts.here(owner=Owner(user=user))}
    assert found == {
        "tides": "account's",
        "tides 2": "guest's",
        long: "account's",
        f"{long[:-4]} 2": "guest's",
    }
    assert list_prompts.here(owner=ADA) == []
    assert len(list_prompts.here(owner=BOB)) == 2


@pytest.mark.django_db(transaction=True)
def test_an_accounts_prompts_go_with_it_and_nobody_elses() -> None:
    user = User.objects.create_user("ada").pk
    for owner in (Owner(user=user), BOB):
        keep_prompt.here(owner=owner, name="tides", text="x")
    release_piece.here(user=user)
    assert list_prompts.here(owner=Owner(user=user)) == []
    keep_prompt.here(owner=Owner(user=user), name="late", text="x")
    remove_account.here(user=user)
    assert [one.guest for one in Prompt.objects.all()] == ["bob"]


@pytest.mark.django_db(transaction=True)
def test_there_is_an_end_to_them() -> None:
    Prompt.objects.bulk_create(
        Prompt(guest="ada", name=f"{number}", text="x") for number in range(MOST)
    )
    with pytest.raises(Refused, match="200 prompts"):
        keep_prompt.here(owner=ADA, name="one more", text="x")
    keep_prompt.here(owner=BOB, name="one more", text="x")
