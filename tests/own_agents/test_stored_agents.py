"""Own agents in storage: other servers see them, owners move and go, what can't be read breaks
nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from chatsite.accounts.removal import remove_account
from chatsite.agents.template import BrokenTemplate, Template
from chatsite.conversations.lifecycle import move_to_account
from chatsite.conversations.owners import Owner
from chatsite.own_agents.known import OwnAgents
from chatsite.own_agents.models import OwnAgent, OwnAgentVersion, OwnInstructions
from chatsite.own_agents.queries import (
    create_agent,
    delete_agent,
    own_data,
    own_instructions,
    purge_agents,
    save_agent,
    save_instructions,
)

pytestmark = pytest.mark.django_db(transaction=True)
GUEST = Owner(guest="ada")
BRIEF = {"name": "Brief", "personality": "Be brief."}


def make(owner: Owner = GUEST, **changes: Any) -> str:
    template = BRIEF | changes
    return create_agent.here(owner=owner, template=template, shared=False, staff=False)


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def test_another_server_sees_a_change_after_a_second() -> None:
    clock = Clock()
    here, there = OwnAgents(clock=clock), OwnAgents(clock=clock)
    await here.look()
    await there.look()
    create, save, told = create_agent, save_agent, save_instructions
    slug = await create(owner=GUEST, template=BRIEF, shared=False, staff=False)
    await told(owner=GUEST, text="Be kind.", on=True)
    await here.look(now=True)
    assert here.is_own(slug)
    await there.look()
    assert not there.is_own(slug)
    clock.seconds += 1.0
    await there.look()
    assert there.may_use(GUEST, slug) and not there.may_use(Owner(guest="bob"), slug)
    assert there.instructions[GUEST.key] == "Be kind."
    template = BRIEF | {"personality": "Be long."}
    await save(owner=GUEST, slug=slug, template=template, shared=True, staff=True)
    await delete_agent(owner=GUEST, slug=slug, deleted=True, staff=True)
    clock.seconds += 1.0
    await there.look()
    assert there.find(slug) is None and not there.may_use(GUEST, slug)


async def test_a_template_that_cant_be_read_is_broken_and_stops_no_other() -> None:
    known, odd = OwnAgents(), list[Any](({"name": 3}, ["later"], BRIEF))
    slugs = [
        await create_agent(owner=GUEST, template=one, shared=False, staff=False) for one in odd
    ]
    await known.look()
    kinds = [type(known.find(slug)) for slug in slugs]
    assert kinds == [BrokenTemplate, BrokenTemplate, Template]
    assert len(list(known.offered(GUEST))) == 3


def test_a_guests_agents_move_and_the_accounts_own_instructions_stay() -> None:
    user = User.objects.create_user("ada").pk
    slug = make()
    save_instructions.here(owner=GUEST, text="The guest's.", on=True)
    move_to_account.here(guest="ada", user=user)
    found = own_data.here(owner=Owner(user=user))
    assert [one["agent__slug"] for one in found["agents"]] == [slug]
    assert found["instructions"] == {"text": "The guest's.", "on": True}
    save_instructions.here(owner=Owner(guest="bob"), text="Another guest's.", on=True)
    move_to_account.here(guest="bob", user=user)
    assert own_instructions.here(owner=Owner(user=user)) == ("The guest's.", True)
    assert OwnInstructions.objects.count() == 1


def test_all_goes_with_its_account_and_what_was_deleted_goes_for_good() -> None:
    user = User.objects.create_user("ada").pk
    owner = Owner(user=user)
    make(owner)
    save_instructions.here(owner=owner, text="Be kind.", on=True)
    remove_account.here(user=user)
    assert not OwnInstructions.objects.exists()
    assert not OwnAgent.objects.filter(deleted=None).exists()
    kept, deleted = make(), make()
    delete_agent.here(owner=GUEST, slug=deleted, deleted=True, staff=False)
    purge_agents.here()
    assert set(OwnAgent.objects.values_list("slug", flat=True)) == {kept, deleted}
    OwnAgent.objects.filter(slug=deleted).update(deleted=timezone.now() - timedelta(days=1))
    purge_agents.here()
    assert list(OwnAgent.objects.values_list("slug", flat=True)) == [kept]
    assert OwnAgentVersion.objects.count() == 1
