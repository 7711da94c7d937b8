"""Who may look behind an answer, and who may make an account: the server's settings decide."""

from __future__ import annotations

import pytest

from tests.person import Person
from tests.running import Server, copy_database
from tests.web.browser_requests import ask, ask_from_page, submit
from tests.web.conftest import STAFF


async def visible_parts(person: Person) -> tuple[bool, int, int]:
    """Whether the page offers the panel; the statuses of the receipt and the request of a turn."""
    page = await person.page()
    ended = await page.say("Hello")
    text = (await ask(person, "GET", "/chat?debug=true")).text
    offered = '"debug_panel": true' in text
    assert ('"debug": true' in text) is offered
    receipt = await ask(person, "GET", f"/turns/{ended['turn']}/receipt")
    request = await ask(person, "GET", f"/turns/{ended['turn']}/request")
    assert ('"show_request": true' in text) is (request.status == 200)
    compared = await ask_from_page(person, "POST", f"/turns/{ended['turn']}/compare")
    assert compared.status == receipt.status
    costs = await ask(person, "GET", f"/conversations/{page.conversation}/costs")
    assert costs.status == receipt.status
    if receipt.status == 200:
        assert receipt.json == ended["receipt"]
        assert [one["turn"] for one in costs.json["answers"]] == [ended["turn"]]
    return offered, receipt.status, request.status


async def test_everyone_sees_receipts_and_staff_the_exact_request(server: Server) -> None:
    async with Person(server.url) as ada, Person(server.url) as grace:
        assert await visible_parts(ada) == (True, 200, 404)
        await grace.sign_in(*STAFF)
        assert await visible_parts(grace) == (True, 200, 200)


CLOSED = (False, 404, 404)
OPEN = (True, 200, 200)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("panel", "guest", "staff"),
    [("everyone", OPEN, OPEN), ("staff", CLOSED, OPEN), ("off", CLOSED, CLOSED)],
)
async def test_with_debug_everyone_who_may_open_the_panel_sees_the_request(
    panel: str,
    guest: tuple[bool, int, int],
    staff: tuple[bool, int, int],
    server: Server,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp(panel)
    copy_database(server.folder, folder)  # with its staff: an account takes as long as a start
    with Server(folder, DEBUG_PANEL=panel, DEBUG="true", SIGNUP="false") as other:
        async with Person(other.url) as ada, Person(other.url) as grace:
            assert await visible_parts(ada) == guest
            await grace.sign_in(*STAFF)
            assert await visible_parts(grace) == staff
            await no_account_is_made(ada)


async def no_account_is_made(ada: Person) -> None:
    """With SIGNUP=false the page doesn't exist, and a hand-made form is refused too."""
    assert '"signup": false' in (await ask(ada, "GET", "/chat")).text
    assert (await ask(ada, "GET", "/accounts/signup/")).status == 404
    form = {"username": "ada", "password1": "lovelace-1843", "password2": "lovelace-1843"}
    assert (await ask_from_page(ada, "POST", "/accounts/signup/", data=form)).status == 404
    tried = await submit(ada, "/accounts/login/", username="ada", password="lovelace-1843")
    assert tried.status == 200  # the form again: nobody of this name


async def test_the_exact_request_holds_the_sent_messages(server: Server) -> None:
    async with Person(server.url) as grace:
        await grace.sign_in(*STAFF)
        turn = (await (await grace.page()).say("What was sent?"))["turn"]
        sent = await grace.ask("GET", f"/turns/{turn}/request")
        assert [message["role"] for message in sent["messages"]] == ["system", "user"]
        assert sent["messages"][-1]["content"] == "What was sent?"
        assert sent["complete"]
