"""`manage.py check_strategy SLUG`: an agent's strategy against generated conversations."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from chatsite.agents.catalogue import Catalogue
from chatsite.agents.strategy.file import STRATEGY_FILE, StrategyFile
from chatsite.agents.strategy.protocol import StrategyFailure, StrategyInput
from chatsite.agents.strategy.worker import LIMIT_SECONDS, StrategyResult, StrategyWorker
from chatsite.agents.template import Template
from chatsite.errors import NotFound

if TYPE_CHECKING:
    from conformance_kit.search import Counterexample
    from conformance_kit.strategies.subject import StrategySubject

EXAMPLES = 200
EVERY = 20  # conversations for each dot of progress


class Command(BaseCommand):
    help = "Try an agent's strategy.py on generated conversations and print what it breaks."
    tries = 0

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the agent's folder")
        parser.add_argument(
            "--examples",
            type=int,
            default=EXAMPLES,
            metavar="N",
            help=f"how many conversations (default {EXAMPLES})",
        )

    def handle(self, *args: Any, slug: str, examples: int, **options: Any) -> None:
        if examples < 1:
            raise CommandError(f"--examples {examples}: must be at least 1.")
        try:
            from conformance_kit.strategies.subject import StrategySubject
        except ImportError as error:
            if error.name != "hypothesis":
                raise
            raise CommandError(
                "hypothesis isn't installed: pip install -r requirements-dev.txt"
            ) from None
        template, file = _found(slug)
        with asyncio.Runner() as runner:
            strategies = StrategyWorker()

            def run(given: StrategyInput) -> StrategyResult | StrategyFailure:
                return runner.run(strategies.run(file, given))

            def tried() -> None:
                self.tries += 1
                if self.tries % EVERY == 0:
                    self.stdout.write(".", ending="")
                    self.stdout.flush()

            self.stdout.write(
                f"{file.shown}, at most {LIMIT_SECONDS:g} seconds for each of {examples} "
                "generated conversations ",
                ending="",
            )
            try:
                broken = self._try(
                    StrategySubject(file.shown, template, run=run, tried=tried), examples
                )
            finally:
                runner.run(strategies.stop())
        if broken:
            raise CommandError(f"{file.shown} breaks {broken} of the properties above.")
        self.stdout.write(f"{file.shown} keeps all of them.")

    def _try(self, strategy: StrategySubject, examples: int) -> int:
        """Print for every property whether it holds; how many don't."""
        from conformance_kit.search import rates, smallest
        from conformance_kit.strategies.cases import cases
        from conformance_kit.strategies.subject import IT_RUNS, TooSlow, checks

        bound = checks()
        try:
            tally = rates(strategy, bound, cases(), examples=examples).broken
            if tally[IT_RUNS]:  # a strategy that can't run fails every other property too
                bound = {IT_RUNS: bound[IT_RUNS]}
            found = {
                sentence: smallest(strategy, bound[sentence], cases(), examples=examples)
                for sentence in bound
                if tally[sentence]
            }
        except TooSlow as slow:
            bound = {IT_RUNS: bound[IT_RUNS]}
            found = {IT_RUNS: slow.broken}
        self.stdout.write("")
        for sentence in bound:
            self._say(sentence, found.get(sentence))
        return len(found)

    def _say(self, sentence: str, broken: Counterexample | None) -> None:
        if broken is None:
            self.stdout.write(f"  holds: {sentence}")
            return
        self.stdout.write(f"  {self.style.ERROR('BROKEN')}: {sentence}")
        self.stdout.write("    The smallest conversation found:")
        for line in broken.describe().splitlines():
            self.stdout.write(f"    {line}")


def _found(slug: str) -> tuple[Template, StrategyFile]:
    """The agent with its strategy, or CommandError."""
    catalogue = Catalogue(settings.AGENTS_DIR)
    try:
        template = catalogue.get(slug)
    except NotFound as error:
        raise CommandError(error.message) from None
    file = catalogue.strategy(slug)
    if file is None:
        raise CommandError(f"{slug}/{STRATEGY_FILE}: there is no such file.")
    if file.fault:
        failure = StrategyFailure(reason=file.fault, line=file.line)
        raise CommandError(f"{failure.sentence(file.shown)}.")
    return template, file
