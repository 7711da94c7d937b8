"""A title by the fast model, after the first answer of a chat in the page; nobody waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from chatsite.conversations.titles import FirstExchange, first_exchange, store_title
from chatsite.errors import ChatsiteError
from chatsite.events import Event, Renamed
from chatsite.messages import Message, repair_text
from chatsite.providers.base.provider import Model
from chatsite.turns.context.turn_context import TurnContext
from chatsite.turns.evidence.completion import FAST, complete, side_model
from chatsite.turns.titles.cleaning import clean_title

logger = logging.getLogger("chatsite.turns")
TASK = (
    "Give the conversation below a title of at most six words, in the language in which the user "
    "writes. Say what it is about. Answer with the title alone: no quotation marks, no full stop, "
    "no explanation."
)
# What one title may cost: characters of the exchange, and tokens of the answer. A model that thinks
# needs some for that.
CHARACTERS, QUESTION_CHARACTERS = 2_000, 1_200
MOST_TOKENS = 200
SECONDS = 30.0
# In the whole process: the calls take from what the provider lets this server ask at once.
MOST_AT_ONCE = 2


class Titler:
    """Built once by `wiring`. Asks once for a conversation, and not `on` never. An agent without a
    model for side tasks keeps the first words: the bundled model's titles are worse."""

    def __init__(self, *, on: bool, publish: Callable[[str, Event], None]) -> None:
        self.on = on
        self.publish = publish
        self._making: dict[str, asyncio.Task[None]] = {}
        self._at_once = asyncio.Semaphore(MOST_AT_ONCE)

    def after_turn(self, context: TurnContext) -> None:
        """Begin to make a title where the turn was the first that was answered."""
        of = context.conversation
        if not self.on or context.page_request.room is not None or of in self._making:
            return
        model = side_model(context.agent, FAST)
        if model is not None:
            self._making[of] = task = asyncio.create_task(self._make(context, model))
            task.add_done_callback(lambda _: self._making.pop(of))

    async def _make(self, context: TurnContext, model: Model) -> None:
        owner, of = context.owner, context.conversation
        try:
            async with self._at_once:
                exchange = await first_exchange(owner=owner, conversation=of)
                if exchange is None:
                    return
                completed = await complete(
                    context.agent.provider,
                    model,
                    [Message.user(title_question(exchange), id="title")],
                    # Of its own: the conversation's prompt keeps its place in a cache.
                    conversation=f"{of}:title",
                    max_tokens=MOST_TOKENS,
                    seconds=SECONDS,
                )
            title = clean_title(completed.text, prompt=exchange.question)
            outcome, used = "a title" if title else "no title", completed.usage
            counts = (used.prompt, used.completion)
            logger.info("%s for %s by %s: %s and %s tokens", outcome, of, model.name, *counts)
            was = exchange.title
            if title and await store_title(
                owner=owner, conversation=of, title=title, instead_of=was
            ):
                self.publish(of, Renamed(title=title))
        except (ChatsiteError, TimeoutError) as error:
            # Without its words, in which a server may repeat what it was asked.
            logger.info("no title for %s: %s", of, getattr(error, "code", "timeout"))
        except Exception as error:
            logger.error("no title for %s: %s", of, type(error).__name__)

    async def drain(self) -> None:
        """End what is being made: first words stay."""
        self.on = False
        tasks = list(self._making.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def title_question(exchange: FirstExchange) -> str:
    """What the model is asked, with the first exchange as far as `CHARACTERS` go."""
    question = exchange.question[:QUESTION_CHARACTERS]
    answer = exchange.answer[: CHARACTERS - len(question)]
    return repair_text(
        f"{TASK}\n\n<user>\n{question}\n</user>\n<assistant>\n{answer}\n</assistant>"
    )
