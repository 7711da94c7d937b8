"""`make seed` makes a conversation of every kind, and every one of them opens."""

from __future__ import annotations

import asyncio
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections

from chatsite.conversations.models import Conversation, Turn
from chatsite.conversations.owners import Owner
from chatsite.errors import NotFound
from chatsite.events import Snapshot
from tests.commands.seed import STRANGER, Command
from tests.seed.samples import LONG_TURNS, SAMPLES
from tests.seed.seeder import Seeder

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Seeded:
    """What the command printed, and what a page shows of each conversation, by its title."""

    output: str
    owner: Owner
    pages: dict[str, Snapshot]

    def page(self, title: str) -> Snapshot:
        return next(page for name, page in self.pages.items() if name.startswith(title))


@pytest.fixture
def seeded(
    monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path, transactional_db: None
) -> Seeded:
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    settings.FILES_DIR = tmp_path
    output = io.StringIO()
    call_command(Command(), stdout=output)
    name, _ = signing_in(output.getvalue())
    owner = Owner(user=get_user_model().objects.get(username=name).pk)
    with open_seeder(owner) as seeder:
        rows = Conversation.objects.filter(user=owner.user, deleted=None)
        pages = {row.title: asyncio.run(seeder.open(str(row.id))) for row in rows}
    return Seeded(output.getvalue(), owner, pages)


def signing_in(output: str) -> tuple[str, str]:
    found = re.search(r"Sign in as (\S+) with the password (\S+), on http://\S+/login/", output)
    assert found
    return found[1], found[2]


def addresses(output: str) -> dict[str, str]:
    """The printed conversations' ids, by title."""
    lines = re.findall(r"^http://127\.0\.0\.1:8000/chat/(\S+)  (.+)$", output, re.MULTILINE)
    return {title: id for id, title in lines}


class open_seeder:
    """`with opener(owner) as seeder:` closes its threads afterwards."""

    def __init__(self, owner: Owner) -> None:
        self.seeder = Seeder(owner)

    def __enter__(self) -> Seeder:
        return self.seeder

    def __exit__(self, *error: object) -> None:
        self.seeder.close()


def test_a_conversation_of_every_kind_is_stored_and_opens(seeded: Seeded) -> None:
    assert set(seeded.pages) == set(SAMPLES)
    assert all(page.messages for page in seeded.pages.values())
    assert not any(page.turn for page in seeded.pages.values())
    printed = addresses(seeded.output)
    assert set(printed) == {*SAMPLES, STRANGER}
    for title, page in seeded.pages.items():
        assert page.conversation_id == printed[title]

    long = seeded.page("A long talk")
    assert long.earlier and long.receipt is not None
    assert Conversation.objects.get(id=long.conversation_id).path_users == LONG_TURNS

    tools = [view.message for view in seeded.page("Tool calls").messages]
    assert [call.name for message in tools for call in message.calls] == [
        *("clock", "calculator", "calculator")
    ]
    results = [message.content or "" for message in tools if message.role == "tool"]
    assert [("error" in result) for result in results] == [False, False, True]

    attached = [view.message.attachments for view in seeded.page("Attached files").messages]
    assert [file.modality for files in attached for file in files] == ["image", "document"]

    failed = seeded.page("A failed").messages[-1]
    assert failed.message.role == "user" and failed.problem is not None
    assert seeded.page("A stopped").messages[-1].state == "stopped"
    assert seeded.page("An interrupted").messages[-1].state == "interrupted"
    assert seeded.page("An interrupted").messages[-1].message.content


def test_marks_versions_summary_background_message_and_import_are_stored(seeded: Seeded) -> None:
    for title in ("Pinned, left out", "Restored from"):
        page = seeded.page(title)
        assert page.forget_above > 0
        assert [sum(view.pinned for view in page.messages)] == [1]
        assert [sum(view.excluded for view in page.messages)] == [1]
    assert seeded.page("Pinned, left out").messages[-2].reply is not None

    answer = seeded.page("Three versions").messages[-1]
    assert len(answer.versions) == 3 and answer.message.content == "Red."

    summarised = seeded.page("A running summary")
    assert (summarised.summary.on, summarised.summary.version) == (True, 1)
    assert summarised.receipt is not None and "summarised" in str(summarised.receipt)

    notes = [view.message.source for view in seeded.page("Messages of a background").messages]
    assert notes[-2:] == ["briefing", "briefing"]


def test_another_accounts_conversation_does_not_open(seeded: Seeded) -> None:
    other = addresses(seeded.output)[STRANGER]
    assert Conversation.objects.get(id=other).user_id != seeded.owner.user
    with open_seeder(seeded.owner) as seeder, pytest.raises(NotFound):
        asyncio.run(seeder.open(other))


def test_a_second_run_adds_an_account_and_changes_nothing(seeded: Seeded) -> None:
    before = set(Conversation.objects.values_list("id", "updated"))
    output = io.StringIO()
    call_command(Command(), stdout=output)
    first, second = signing_in(seeded.output), signing_in(output.getvalue())
    assert first[0] != second[0] and first[1] != second[1]
    assert before < set(Conversation.objects.values_list("id", "updated"))
    assert not Turn.objects.filter(state="running").exists()


def test_the_password_signs_in_to_an_account_without_rights_and_to_no_other(seeded: Seeded) -> None:
    name, password = signing_in(seeded.output)
    user = authenticate(username=name, password=password)
    assert user is not None and not user.is_staff and not user.is_superuser
    others = get_user_model().objects.exclude(username=name)
    assert [other.has_usable_password() for other in others] == [False]


def test_without_an_agent_the_command_says_what_to_set(
    settings: Any, tmp_path: Path, transactional_db: None
) -> None:
    settings.AGENTS_DIR = tmp_path
    with pytest.raises(CommandError, match="Set AGENTS_DIR"):
        call_command(Command(), stdout=io.StringIO())
