"""The units of work on own agents and own instructions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import F, Max
from django.db.models.functions import Now
from django.utils import timezone

from chatsite.agents.template import BrokenTemplate, Template
from chatsite.agents.template_file import parse_template
from chatsite.conversations.database.locks import hold
from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owner_now
from chatsite.conversations.versions.deletions import DELETED_AFTER
from chatsite.errors import BadCommand, BadFile, NotFound, Refused
from chatsite.own_agents.models import OwnAgent, OwnAgentVersion, OwnInstructions
from chatsite.storage import at_once, reading, takes_long, tidying, writing
from chatsite.wording import later, say

MOST_AGENTS = 100
MOST_VERSIONS = 50
LONGEST_INSTRUCTIONS = 4_000
# A transaction may commit later than its rows say.
OVERLAP = timedelta(seconds=10)
NO_AGENT = later("There is no agent of that name here.")
STAFF_ONLY = later("Only staff may change an agent that is for everyone. Nothing was changed.")


@dataclass(frozen=True, kw_only=True)
class KnownAgent:
    """An agent as every server knows it: `owner` is the owner's key, `document` what its template
    is made of once somebody asks for it."""

    slug: str
    owner: str
    shared: bool
    deleted: bool
    number: int
    document: Any

    @cached_property
    def template(self) -> Template | BrokenTemplate:
        try:
            return parse_template(self.slug, self.document)
        except BadFile as error:
            return BrokenTemplate(slug=self.slug, file="", key=error.key, reason=error.message)

    def is_for(self, owner: Owner) -> bool:
        return not self.deleted and (self.shared or self.owner == owner.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What was changed since: agents, instructions that are sent by their owner's key ("" for
    none), and until when."""

    agents: tuple[KnownAgent, ...]
    instructions: Mapping[str, str]
    until: datetime | None


@at_once
@reading
def changed_since(since: datetime | None) -> Changed:
    """Two indexed queries; None reads everything, which may take long."""
    if since is None:
        takes_long()
    versions = OwnAgentVersion.objects.filter(number=F("agent__number")).select_related("agent")
    told = OwnInstructions.objects.all()
    if since is not None:
        versions = versions.filter(agent__changed__gt=since - OVERLAP)
        told = told.filter(changed__gt=since - OVERLAP)
    agents, times, instructions = [], [since], {}
    for version in versions:
        agent = version.agent
        times.append(agent.changed)
        agents.append(
            KnownAgent(
                slug=agent.slug,
                owner=_owner_of(agent).key,
                shared=agent.shared,
                deleted=agent.deleted is not None,
                number=agent.number,
                document=version.template,
            )
        )
    for row in told:
        times.append(row.changed)
        instructions[_owner_of(row).key] = row.text if row.on else ""
    until = max((at for at in times if at is not None), default=None)
    return Changed(agents=tuple(agents), instructions=instructions, until=until)


def _owner_of(row: OwnAgent | OwnInstructions) -> Owner:
    return Owner(user=row.user_id, guest=row.guest)


# ---- agents ----------------------------------------------------------------------------------
def _find(owner: Owner, slug: str, *, staff: bool, deleted: bool = False) -> OwnAgent:
    """The agent, to be changed. Raises the same NotFound for a missing one and for another
    owner's, Refused for one that is for everyone unless this is `staff`."""
    agent = OwnAgent.objects.filter(owner.filter(), slug=slug).first()
    if agent is None or (agent.deleted is not None) != deleted:
        raise NotFound(say(NO_AGENT))
    if agent.shared and not staff:
        raise Refused(say(STAFF_ONLY))
    return agent


@reading
def agent_versions(*, owner: Owner, slug: str) -> tuple[bool, list[dict[str, Any]]]:
    """Whether it is shared, and its versions with their templates, the newest first. Raises
    NotFound."""
    agent = _find(owner, slug, staff=True)
    rows = agent.versions.order_by("-number").values("number", "created", "template")
    return agent.shared, [dict(row) for row in rows]


@writing
def create_agent(*, owner: Owner, template: Mapping[str, Any], shared: bool, staff: bool) -> str:
    """Store a new agent and return its slug. Raises Refused where there are too many."""
    hold(owner := owner_now(owner))
    _require_staff(shared, staff)
    if OwnAgent.objects.filter(owner.filter(), deleted=None).count() >= MOST_AGENTS:
        raise Refused(say("You have {most} agents; delete one first.", most=MOST_AGENTS))
    agent = OwnAgent.objects.create(
        user_id=owner.user, guest=owner.guest, shared=shared, changed=timezone.now()
    )
    _add_version(agent, template)
    return agent.slug


@writing
def save_agent(
    *, owner: Owner, slug: str, template: Mapping[str, Any], shared: bool, staff: bool
) -> None:
    """Store a new version where the template is another one. Raises NotFound and Refused."""
    hold(owner)
    agent = _find(owner, slug, staff=staff)
    _require_staff(shared, staff)
    newest = agent.versions.filter(number=agent.number).first()
    if newest is None or newest.template != template:
        _add_version(agent, template)
    OwnAgent.objects.filter(pk=agent.pk).update(shared=shared, changed=Now())


@writing
def use_version(*, owner: Owner, slug: str, number: int, staff: bool) -> None:
    """Make an older version the newest. Raises NotFound and Refused."""
    hold(owner)
    agent = _find(owner, slug, staff=staff)
    older = agent.versions.filter(number=number).first()
    if older is None:
        raise NotFound(say("There is no such version any more."))
    _add_version(agent, older.template)


@writing
def delete_agent(*, owner: Owner, slug: str, deleted: bool, staff: bool) -> None:
    """Delete the agent, or undo that. Raises NotFound and Refused."""
    hold(owner)
    agent = _find(owner, slug, staff=staff, deleted=not deleted)
    at = timezone.now() if deleted else None
    OwnAgent.objects.filter(pk=agent.pk).update(deleted=at, changed=Now())


def _require_staff(shared: bool, staff: bool) -> None:
    if shared and not staff:
        raise Refused(say("Only staff may make an agent for everyone. Nothing was changed."))


def _add_version(agent: OwnAgent, template: Mapping[str, Any]) -> None:
    number = (agent.versions.aggregate(most=Max("number"))["most"] or 0) + 1
    agent.versions.create(number=number, created=timezone.now(), template=template)
    agent.versions.filter(number__lte=number - MOST_VERSIONS).delete()
    OwnAgent.objects.filter(pk=agent.pk).update(number=number, changed=Now())


# ---- own instructions ------------------------------------------------------------------------
@reading
def own_instructions(*, owner: Owner) -> tuple[str, bool]:
    """The text, and whether it is sent."""
    row = OwnInstructions.objects.filter(owner.filter()).first()
    return (row.text, row.on) if row else ("", True)


@writing
def save_instructions(*, owner: Owner, text: str, on: bool) -> None:
    """Raises BadCommand for one that is too long."""
    hold(owner := owner_now(owner))
    if len(text) > LONGEST_INSTRUCTIONS:
        raise BadCommand(
            say(
                "These are {length:,} characters; {most:,} are allowed. The text before is kept.",
                length=len(text),
                most=LONGEST_INSTRUCTIONS,
            )
        )
    row = OwnInstructions.objects.filter(owner.filter()).first()
    row = row or OwnInstructions(user_id=owner.user, guest=owner.guest, changed=timezone.now())
    row.text, row.on = text, on
    row.save()
    OwnInstructions.objects.filter(pk=row.pk).update(changed=Now())


# ---- owners ----------------------------------------------------------------------------------
def follow_owner(sender: Any, *, owner: Owner, user: int | None, **more: Any) -> None:
    """Give a guest's agents and instructions to the account that they sign in to, whose own
    instructions come first, or take them from an owner who goes. The caller holds both."""
    theirs = owner.filter()
    if user is None:
        # Other servers learn from the row that it is gone; the next purge removes it.
        gone = timezone.now() - 2 * DELETED_AFTER
        OwnAgent.objects.filter(theirs).update(
            user=None, guest="deleted", deleted=gone, changed=Now()
        )
        OwnInstructions.objects.filter(theirs).delete()
        return
    own = Owner(user=user).filter()
    OwnAgent.objects.filter(theirs).update(user=user, guest="", changed=Now())
    if OwnInstructions.objects.filter(own).exclude(text="").exists():
        OwnInstructions.objects.filter(theirs).delete()
    elif OwnInstructions.objects.filter(theirs).exists():
        OwnInstructions.objects.filter(own).delete()
        OwnInstructions.objects.filter(theirs).update(user=user, guest="", changed=Now())


@tidying
def purge_agents() -> None:
    """Remove what was deleted long enough ago."""
    OwnAgent.objects.filter(deleted__lt=timezone.now() - DELETED_AFTER).delete()


@reading
def own_data(*, owner: Owner) -> dict[str, Any]:
    """What the download of everything has of them: the newest version of each agent, and the
    instructions."""
    text, on = own_instructions.here(owner=owner)
    versions = OwnAgentVersion.objects.filter(
        owner.filter("agent__"), agent__deleted=None, number=F("agent__number")
    )
    agents = list(versions.order_by("agent").values("agent__slug", "template"))
    return {"agents": agents, "instructions": {"text": text, "on": on}}
