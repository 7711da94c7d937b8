"""A link's page: what it shows to whom, until when, and what it never carries."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.person import Page, Person
from tests.running import Server
from tests.shares.conftest import BOB
from tests.shares.links import opened, share, signed_in
from tests.web.browser_requests import ask

CSP = "default-src 'none'; style-src 'self'; img-src 'self'"


def change(server: Server, statement: str, *values: Any) -> None:
    """Change the rows themselves, as time or an administrator does."""
    with closing(sqlite3.connect(server.folder / "chatsite.sqlite3")) as database:
        assert database.execute(statement, values).rowcount
        database.commit()


async def stored(person: Person, page: Page) -> list[dict[str, Any]]:
    snapshot = (await person.page(page.conversation)).snapshot
    found: list[dict[str, Any]] = snapshot["messages"]
    return found


async def expect_gone(server: Server, path: str) -> None:
    """The answer is the very one that a link gets which never was."""
    unknown = await opened(server, f"/shared/{'A' * 48}")
    found = await opened(server, path)
    assert (found.status, found.text) == (404, unknown.text)
    assert {**found.headers, "Date": ""} == {**unknown.headers, "Date": ""}


async def test_anybody_reads_the_chat_and_nothing_else_of_its_owner(server: Server) -> None:
    async with signed_in(server) as ada:
        page, other = await ada.page(), await ada.page()
        await page.say("Where do **herons** sleep?")
        await other.say("My other plan")
        link = await share(ada, page)
        found = await opened(server, link["path"])
        assert found.status == 200
        assert "Where do <strong>herons</strong> sleep?" in found.text
        for secret in ("My other plan", "ada", page.conversation, "<script", "What the model saw"):
            assert secret not in found.text, secret


async def test_times_are_written_as_in_the_chat_and_say_that_they_are_utc(server: Server) -> None:
    async with signed_in(server) as ada:
        page = await ada.page()
        await page.say("When?")
        found = (await opened(server, (await share(ada, page))["path"])).text
        time = r"\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d UTC"
        for place in (r"<time [^>]*>\s*", r"Shared on ", r"The link ends on "):
            assert re.search(place + time, found), place


async def test_as_of_now_stays_and_following_goes_on(server: Server) -> None:
    async with signed_in(server) as ada:
        page = await ada.page()
        await page.say("First question")
        now, following = await share(ada, page), await share(ada, page, following=True)
        await page.say("Second question")
        assert "Second question" not in (await opened(server, now["path"])).text
        assert "Second question" in (await opened(server, following["path"])).text


async def test_an_edit_shows_in_what_follows_and_what_was_shared_stays(server: Server) -> None:
    async with signed_in(server) as ada:
        page = await ada.page()
        await page.say("The old wording")
        now, following = await share(ada, page), await share(ada, page, following=True)
        asked = next(one for one in await stored(ada, page) if one["role"] == "user")
        await page.command(
            "edit", agent="demo", client_id=str(uuid4()), message=asked["id"], text="New wording"
        )
        await page.until("turn_ended")
        shown = (await opened(server, now["path"])).messages
        assert "The old wording" in shown and "New wording" not in shown
        shown = (await opened(server, following["path"])).messages
        assert "The old wording" not in shown and "New wording" in shown


async def test_a_deleted_message_leaves_every_link(server: Server) -> None:
    async with signed_in(server) as ada:
        page = await ada.page()
        await page.say("Keep this")
        await page.say("My password is hunter2")
        links = [await share(ada, page, following=on) for on in (False, True)]
        for one in (await stored(ada, page))[-2:]:
            await ada.ask("DELETE", f"/messages/{one['id']}")
        for link in links:
            found = await opened(server, link["path"])
            assert "Keep this" in found.text and "hunter2" not in found.text


async def test_a_text_that_was_changed_in_its_place_shows_as_it_is_now(server: Server) -> None:
    async with signed_in(server) as ada:
        page = await ada.page()
        await page.say("My name is Grace")
        link = await share(ada, page)
        for one in (await stored(ada, page))[-2:]:
            path = f"/messages/{one['id']}/text"
            await ada.ask("PUT", path, {"text": "My name is withheld"})
        found = await opened(server, link["path"])
        assert "withheld" in found.text and "Grace" not in found.text


class TestGone:
    """One answer for what never was, has ended, was taken back or isn't allowed any more."""

    @pytest.mark.parametrize(
        "path",
        [
            "/shared/x",
            f"/shared/{'A' * 47}",
            f"/shared/{'A' * 49}",
            "/shared/%00",
            f"/shared/{'%C3%A4' * 24}",
            f"/shared/{'A' * 48}?page=x",
            f"/shared/{'A' * 48}/files/0-0",
            f"/shared/{'A' * 48}/files/99999999999999999999-0",
        ],
    )
    async def test_unknown(self, path: str, server: Server) -> None:
        await expect_gone(server, path)

    async def test_an_id_is_not_enough_nor_one_changed_character(self, server: Server) -> None:
        async with signed_in(server) as ada:
            page = await ada.page()
            await page.say("Mine")
            link = await share(ada, page)
            token = link["path"].removeprefix("/shared/")
            await expect_gone(server, f"/shared/{link['id']}")
            await expect_gone(server, f"/shared/{page.conversation}")
            for place in (0, 20, 22, 30, 47):
                other = "A" if token[place] != "A" else "B"
                await expect_gone(server, f"/shared/{token[:place]}{other}{token[place + 1 :]}")
            assert (await opened(server, link["path"])).status == 200

    async def test_ended(self, server: Server) -> None:
        async with signed_in(server) as ada:
            page = await ada.page()
            await page.say("Mine")
            link = await share(ada, page, days=1)
            id = UUID(link["id"]).hex
            change(server, "UPDATE shares_share SET ends = '2020-01-01' WHERE id = ?", id)
            await expect_gone(server, link["path"])
            listed = await ada.ask("GET", f"/conversations/{page.conversation}/shares")
            assert listed["shares"] == []
            # What has ended doesn't come back by a change.
            await ada.ask("PATCH", f"/shares/{link['id']}", {"days": 7}, expect=404)

    async def test_taken_back(self, server: Server) -> None:
        async with signed_in(server) as ada:
            page = await ada.page()
            await page.say("Mine")
            link, kept = await share(ada, page), await share(ada, page)
            await ada.ask("DELETE", f"/shares/{link['id']}")
            await expect_gone(server, link["path"])
            await expect_gone(server, f"{link['path']}/files/1-0")
            assert (await opened(server, kept["path"])).status == 200

    async def test_cleared(self, server: Server) -> None:
        async with signed_in(server) as ada:
            page = await ada.page()
            await page.say("Mine")
            links = [await share(ada, page, following=on) for on in (False, True)]
            await ada.ask("POST", f"/conversations/{page.conversation}/clear")
            for link in links:
                await expect_gone(server, link["path"])
            # A link that is made afterwards shows what was said afterwards.
            await page.say("And this after")
            found = await opened(server, (await share(ada, page, following=True))["path"])
            assert "And this after" in found.messages and "Mine" not in found.messages

    async def test_the_chat_deleted_and_back_with_it(self, server: Server) -> None:
        async with signed_in(server) as ada:
            page = await ada.page()
            await page.say("Mine")
            link = await share(ada, page)
            await ada.ask("DELETE", f"/conversations/{page.conversation}")
            await expect_gone(server, link["path"])
            await ada.ask("POST", f"/conversations/{page.conversation}/restore")
            assert (await opened(server, link["path"])).status == 200

    async def test_the_account_disabled_or_the_chat_temporary(self, server: Server) -> None:
        server.add_user("carol", "stars-1798")
        async with signed_in(server, ("carol", "stars-1798")) as carol:
            page = await carol.page()
            await page.say("Mine")
            link = await share(carol, page)
            id = UUID(page.conversation).hex
            temporary = "UPDATE conversations_conversation SET temporary = ? WHERE id = ?"
            change(server, temporary, True, id)
            await expect_gone(server, link["path"])
            path = f"/conversations/{page.conversation}/shares"
            refused = await carol.ask("POST", path, {}, expect=409)
            assert refused["message"] == "A temporary chat can't be shared."
            change(server, temporary, None, id)
            assert (await opened(server, link["path"])).status == 200
            change(server, "UPDATE auth_user SET is_active = 0 WHERE username = 'carol'")
            await expect_gone(server, link["path"])

    async def test_the_account_deleted(self, server: Server) -> None:
        async with Person(server.url) as dora:
            form = {"username": "dora", "password1": "tin-foil-88", "password2": "tin-foil-88"}
            headers = dora.headers()
            path = f"{server.url}/accounts/signup/"
            async with dora.http.post(path, data=form, headers=headers) as answer:
                assert answer.url.path == "/chat", await answer.text()
            page = await dora.page()
            await page.say("Mine")
            link = await share(dora, page)
            path = f"{server.url}/accounts/delete/"
            data = {"password": "tin-foil-88"}
            async with dora.http.post(path, data=data, headers=dora.headers()) as answer:
                assert answer.status == 200
            await expect_gone(server, link["path"])

    async def test_no_such_page(self, server: Server) -> None:
        async with signed_in(server) as ada:
            page = await ada.page()
            await page.say("Mine")
            link = await share(ada, page)
            for number in ("0", "2", "-1", "x", "1e3", "٣", "9" * 40):
                await expect_gone(server, f"{link['path']}?page={number}")


async def test_a_switched_off_server_answers_as_if_no_link_had_ever_been(
    server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("off")
    with Server(folder, SHARES="everyone") as everyone:
        async with Person(everyone.url) as guest:
            page = await guest.page()
            await page.say("Mine")
            link = await share(guest, page)
            assert "Mine" in (await opened(everyone, link["path"])).text
    for setting in ("accounts", "off"):
        with Server(folder, SHARES=setting) as strict:
            assert (await opened(strict, link["path"])).status == 404
            async with Person(strict.url) as guest:
                page = await guest.page()
                await page.say("Mine")
                path = f"/conversations/{page.conversation}/shares"
                listed = await guest.ask("GET", path)
                assert listed["why_not"] and listed["sign_in"] == (setting == "accounts")
                await guest.ask("POST", path, {}, expect=409)


class TestRequests:
    async def test_no_cookie_is_read_or_set_and_the_headers_are_strict(
        self, server: Server
    ) -> None:
        async with signed_in(server) as ada, signed_in(server, BOB) as bob:
            page = await ada.page()
            await page.say("Mine")
            link = await share(ada, page)
            stranger = await opened(server, link["path"])
            for person in (ada, bob):
                cookies = "; ".join(f"{one.key}={one.value}" for one in person.cookies())
                for cookie in (cookies, "sessionid=x; csrftoken=y", "a" * 4_000):
                    found = await opened(server, link["path"], Cookie=cookie)
                    assert found.text == stranger.text
                    assert "Set-Cookie" not in found.headers
            headers = stranger.headers
            assert headers["Content-Security-Policy"].startswith(CSP)
            assert "sandbox" in headers["Content-Security-Policy"]
            assert "allow-scripts" not in headers["Content-Security-Policy"]
            assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
            assert headers["Referrer-Policy"] == "no-referrer"
            assert headers["X-Robots-Tag"].startswith("noindex")
            assert headers["Cache-Control"] == "private, no-store"
            assert headers["X-Frame-Options"] == "DENY"
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert "Set-Cookie" not in headers

    async def test_head_has_no_body_and_nothing_else_is_taken(self, server: Server) -> None:
        async with signed_in(server) as ada:
            page = await ada.page()
            await page.say("Mine")
            link = await share(ada, page)
            for path in (link["path"], f"/shared/{'A' * 48}", f"{link['path']}/files/1-0"):
                get, head = await opened(server, path), await opened(server, path, method="HEAD")
                assert (head.status, head.text) == (get.status, "")
                for method in ("POST", "PUT", "PATCH", "DELETE"):
                    refused = await opened(server, path, method=method)
                    assert refused.status == 405
                    assert "Set-Cookie" not in refused.headers

    async def test_no_token_is_in_the_log(self, server: Server) -> None:
        async with signed_in(server) as ada:
            page = await ada.page()
            await page.say("Mine")
            token = (await share(ada, page))["path"].removeprefix("/shared/")
            gone = f"{token[:-1]}{'A' if token[-1] != 'A' else 'B'}"
            before = len(server.log)
            await opened(server, f"/shared/{gone}")
            await opened(server, f"/shared/{gone}/nowhere")
            await opened(server, f"/shared/{token}", method="POST")
            await opened(server, f"/shared/{token}/files/0-0")
            await opened(server, f"/shared/{token}", **{"Content-Type": "text/x; charset=rot13"})
        assert "/shared/…" in server.log[before:]
        assert token[:12] not in server.log and gone[:12] not in server.log

    async def test_an_address_that_asks_too_often_is_refused(
        self, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        folder = tmp_path_factory.mktemp("busy")
        with Server(folder, LIMITS_FACTOR="1", PEOPLE_PER_ADDRESS="1") as busy:
            answers = [await opened(busy, f"/shared/{'A' * 48}") for _ in range(40)]
            assert [one.status for one in answers[:30]] == [404] * 30
            assert answers[-1].status == 429 and "Retry-After" in answers[-1].headers


class TestTicks:
    async def test_files_are_there_only_where_they_are_ticked(self, server: Server) -> None:
        async with signed_in(server) as ada:
            page = await ada.page()
            headers = ada.headers() | {"X-File-Name": "plan.html"}
            uploaded = await ask(ada, "POST", "/files", data=b"<h1>Plan</h1>", headers=headers)
            file = uploaded.json["attachment"]["id"]
            await page.say("My plan", attachments=[file])
            seq = next(one["seq"] for one in await stored(ada, page) if one["role"] == "user")
            without, ticked = await share(ada, page), await share(ada, page, files=True)
            shown = (await opened(server, without["path"])).text
            assert 'class="files"' not in shown and "1 file that isn't shared" in shown
            await expect_gone(server, f"{without['path']}/files/{seq}-0")
            shown = (await opened(server, ticked["path"])).text
            path = f"{ticked['path']}/files/{seq}-0"
            assert f'href="{path}"' in shown and "plan.html" in shown
            found = await opened(server, path)
            assert (found.status, found.text) == (200, "<h1>Plan</h1>")
            assert found.headers["Content-Type"] == "application/octet-stream"
            assert found.headers["Content-Disposition"].startswith("attachment")
            assert "sandbox" in found.headers["Content-Security-Policy"]
            for elsewhere in (f"{seq}-1", f"{seq + 1}-0", "0-0", f"{seq}-99999999999"):
                await expect_gone(server, f"{ticked['path']}/files/{elsewhere}")
            head = await opened(server, path, method="HEAD")
            assert (head.status, head.headers["Content-Length"]) == (200, "13")
            await ada.ask("PATCH", f"/shares/{ticked['id']}", {"files": False})
            await expect_gone(server, path)

    async def test_receipts_say_what_the_answer_was_given(self, server: Server) -> None:
        async with signed_in(server) as ada:
            page = await ada.page(query="historyPolicy=lastN&historyLength=1")
            await page.say("The first thing")
            await page.say("The second thing")
            without, ticked = await share(ada, page), await share(ada, page, receipts=True)
            shown = (await opened(server, ticked["path"])).text
            assert "Messages sent" in shown and "2 of 4" not in shown
            assert "The last answer was written without what is above" in shown
            first, _, second = shown.partition("The last answer was written")
            assert "Not sent for the last answer" in first and "The first thing" in first
            assert "Not sent for the last answer" not in second and "The second thing" in second
            plain = (await opened(server, without["path"])).text
            for words in ("Not sent", "Messages sent", "without what is above"):
                assert words not in plain

    async def test_instructions_are_never_shown(self, server: Server) -> None:
        async with signed_in(server) as ada:
            page = await ada.page()
            await page.say("Mine")
            ticks = {"receipts": True, "tools": True, "files": True, "following": True}
            shown = (await opened(server, (await share(ada, page, **ticks))["path"])).text
            personality = (await ada.page_data())["agents"]
            assert personality
            template = (server.root / "agents" / "demo" / "template.json").read_text()
            for line in template.splitlines():
                if len(line.strip()) > 60 and "greet" not in line.lower():
                    assert line.strip().strip('",') not in shown


async def test_a_long_chat_comes_in_pages(server: Server) -> None:
    async with signed_in(server) as ada:
        page = await ada.page()
        await page.say("Number 1")
        link = await share(ada, page, following=True)
        for number in range(2, 53):
            await page.say(f"Number {number}")
        first = (await opened(server, link["path"])).messages
        second = (await opened(server, f"{link['path']}?page=2")).messages
        assert "Number 1<" in first and "Number 52<" not in first and "?page=2" in first
        assert "Number 52<" in second and "Number 1<" not in second and "?page=1" in second
