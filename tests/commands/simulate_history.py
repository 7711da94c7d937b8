"""What stored conversations would have cost under other policies."""

from __future__ import annotations

import asyncio
import json
import time
from argparse import ArgumentTypeError
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.conf import settings as configured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatsite.conversations.owners import Owner
from chatsite.conversations.ownership import owned_conversation
from chatsite.conversations.path.loading import load_path
from chatsite.conversations.records import StoredConversation
from chatsite.conversations.summaries.queries import holding_summaries, summary_of
from chatsite.conversations.turn.receipts import list_all_conversations
from chatsite.errors import ChatsiteError, NotFound
from chatsite.history import POLICIES, Everything, RunningSummary, Settings, may_use_url
from chatsite.history.settings.grammar import LARGEST, Number, Unreadable
from chatsite.history.settings.offers import SettingSources, alternatives
from chatsite.providers.base.provider import PUBLISHED
from chatsite.storage import reading
from chatsite.turns.context.turn_context import PageRequest
from chatsite.turns.what_if.past_evidence import PathIndexReader, decider_of_path
from chatsite.wiring.site import Site
from tests.commands.simulation import Replay, SimulationTotals

AS_SET = "as set"


@reading
def holding(*, owner: Owner, conversation: str) -> tuple[RunningSummary, ...]:
    """The versions of a conversation's running summary that hold, the newest first."""
    row = owned_conversation(owner, conversation)
    return tuple(summary_of(one) for one in holding_summaries(row))


# Progress is written to standard error, so that the output can be piped.
PROGRESS_SECONDS = 2.0
OPTIONS = ("policy", "length", "tokens", "step", "low_water", "selector")


@dataclass(slots=True)
class SimulationReport:
    """Totals by setting; `skipped` has a sentence for each conversation that was left out."""

    sums: dict[str, SimulationTotals] = field(default_factory=dict)
    asking: set[str] = field(default_factory=set)
    conversations: int = 0
    skipped: list[str] = field(default_factory=list)

    def add(self, label: str, found: SimulationTotals) -> None:
        self.sums.setdefault(label, SimulationTotals()).merge(found)


def number_reader(least: int, most: int = LARGEST) -> Callable[[str], int]:
    """Reads a number by the rules of the settings."""

    def read(text: str) -> int:
        try:
            return Number(least, most).read(text)
        except Unreadable as problem:
            raise ArgumentTypeError(str(problem)) from None

    return read


class Command(BaseCommand):
    help = (
        "Replay the stored conversations turn by turn under every policy, or under the given one, "
        "and print for each what would have been sent. No model is called."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--agent", default="", help="only this agent's conversations")
        parser.add_argument("--conversation", default="", help="only the one with this id")
        parser.add_argument(
            "--limit", type=number_reader(1), help="at most so many, the newest first"
        )
        parser.add_argument("--policy", choices=list(POLICIES.names), help="only this policy")
        parser.add_argument("--length", type=number_reader(0), help="lastN: how many user messages")
        parser.add_argument(
            "--step", type=number_reader(1), help="lastN: by how many the cut moves"
        )
        parser.add_argument("--tokens", type=number_reader(1), help="the token budget")
        parser.add_argument(
            "--low-water", type=number_reader(1, 100), help="percent of the room kept at a cut"
        )
        parser.add_argument("--selector", choices=POLICIES.selectors, help="relevant: who selects")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        found = asyncio.run(self._simulate(options))
        if options["json"]:
            self.stdout.write(json.dumps(as_json(found), indent=2))
            self.stdout.flush()  # whole, before the log says something at the end
        else:
            self.stdout.write(as_table(found))

    async def _simulate(self, options: dict[str, Any]) -> SimulationReport:
        site, found = Site(), SimulationReport()
        try:
            wanted = await list_all_conversations(
                agent=options["agent"], conversation=options["conversation"], limit=options["limit"]
            )
            if not wanted:
                raise CommandError("There is no such conversation here.")
            for number, stored in enumerate(wanted, 1):
                progress = ProgressLine(
                    self.stderr.write, f"conversation {number} of {len(wanted)}"
                )
                try:
                    await self._replay(site, stored, options, found, progress)
                except NotFound as error:
                    found.skipped.append(f"{stored.id}: {error.message}")
        except ChatsiteError as error:
            raise CommandError(error.message) from None
        finally:
            await site.stop()
        return found

    async def _replay(
        self,
        site: Site,
        stored: StoredConversation,
        options: dict[str, Any],
        found: SimulationReport,
        progress: ProgressLine,
    ) -> None:
        page = PageRequest(owner=stored.owner, conversation=stored.id, agent=stored.agent, query="")
        agent = site.agents.resolve_without_start(stored.agent)
        context = site.contexts.with_agent(page, agent)
        loaded = await load_path(owner=stored.owner, conversation=stored.id, reach=Everything())
        loaded = await site.decider.with_counts(context, loaded)
        summaries = await holding(owner=stored.owner, conversation=stored.id)
        sources = SettingSources(
            environment=configured.HISTORY_ENVIRONMENT,
            url={},
            template=agent.template.chat_settings,
            conversation=stored.history,
            url_allowed=may_use_url(configured.HISTORY_ENVIRONMENT, staff=False),
            cached_price=agent.cached_price,
        )
        found.conversations += 1
        for label, in_force, settings in variants(sources, options):
            if settings.listed_policy.asks_model:
                found.asking.add(label)
                continue
            said = PathIndexReader(loaded.transcript.entries)
            replay = Replay(
                decider=decider_of_path(site.decider, said, summaries, vectors=site.vectors),
                context=context,
                loaded=loaded,
                price=agent.model.price,
                at=said.move_to,
                tick=partial(progress.tick, label),
            )
            result = await replay.under(settings)
            found.add(label, result)
            if in_force:
                found.add(AS_SET, result)


class ProgressLine:
    """A line every few seconds of a long run."""

    def __init__(self, write: Any, place: str) -> None:
        self._write = write
        self._place = place
        self._turns = 0
        self._said = time.monotonic()

    def tick(self, label: str) -> None:
        self._turns += 1
        if time.monotonic() - self._said >= PROGRESS_SECONDS:
            self._said = time.monotonic()
            self._write(f"{self._place}: {label}, {self._turns:,} turns replayed")


def variants(sources: SettingSources, options: dict[str, Any]) -> list[tuple[str, bool, Settings]]:
    """Label, whether it applies without a link, and the settings."""
    given = {name: options[name] for name in OPTIONS if options[name] is not None}
    present = sources.resolve()
    settings = present.with_values(given)
    if "policy" not in given:
        return [
            (one.label, one.in_force and not given, one.settings)
            for one in alternatives(sources, settings)
        ]
    policy = settings.listed_policy
    label = f"{policy.label} {settings.length.value:,}" if policy.uses_length else policy.label
    return [(label, False, settings), (AS_SET, False, present)]


def as_json(found: SimulationReport) -> dict[str, Any]:
    return {
        "conversations": found.conversations,
        "prices": PUBLISHED,
        "policies": {label: one.to_dict() for label, one in found.sums.items()},
        "chosen_on_sending": sorted(found.asking),
        "skipped": found.skipped,
    }


def as_table(found: SimulationReport) -> str:
    """One line a policy."""
    heads = ("policy", "turns", "messages", "tokens", "reused", "tool groups left out", "cost")
    rows = [heads, *(cells(label, one) for label, one in ordered(found))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        ).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, "", *remarks(found)])


def ordered(found: SimulationReport) -> list[tuple[str, SimulationTotals]]:
    """The setting that applies now is the first."""
    return sorted(found.sums.items(), key=lambda one: one[0] != AS_SET)


def cells(label: str, one: SimulationTotals) -> tuple[str, ...]:
    cut = f", {one.groups_cut:,} cut" if one.groups_cut else ""
    return (
        label,
        f"{one.turns:,}",
        f"{one.messages:,}",
        f"{one.tokens:,}",
        f"{one.share} %",
        f"{one.groups_left_out:,} of {one.groups:,}{cut}",
        "no price known" if one.cost is None else f"${one.cost:,.4f}",
    )


def remarks(found: SimulationReport) -> list[str]:
    plural = "conversation" if found.conversations == 1 else "conversations"
    said = [
        f"{found.conversations:,} {plural}. Messages and tokens are those of all requests, added "
        "up; reused is the share that a provider could take from its cache; tool groups are "
        "counted in every request anew.",
        f"Costs are estimated from list prices of {PUBLISHED}, with the stored answers.",
    ]
    said += [f"{label}: chosen on sending, so not replayed." for label in sorted(found.asking)]
    for label, one in ordered(found):
        if one.too_large:
            said.append(f"{label}: {one.too_large:,} more turns would not have fitted.")
        if one.noted:
            said.append(f"{label}: {one.noted:,} turns would not have gone quite as it asks.")
    return said + [f"Skipped {why}" for why in found.skipped]
