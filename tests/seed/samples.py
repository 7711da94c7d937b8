"""The conversations that `make seed` makes, one function for each kind."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable

from PIL import Image, ImageDraw

from chatsite.conversations.files.export import write_export
from chatsite.conversations.lifecycle import delete_conversation
from chatsite.conversations.path.added_messages import add_message
from chatsite.conversations.path.marks import exclude_message, forget_above_message, pin_message
from chatsite.conversations.path.queries import whole_path
from chatsite.conversations.records import Checkpoint, NewTurn
from chatsite.conversations.summaries.queries import unsummarised_path
from chatsite.conversations.summaries.versions import fold_summary
from chatsite.conversations.turn.begin import begin_turn
from chatsite.conversations.turn.end import end_interrupted
from chatsite.conversations.turn.rounds import save_checkpoints
from chatsite.errors import ProviderError
from chatsite.history import Everything
from chatsite.messages import Message, TokenCount
from tests.imported import import_conversation, read_export
from tests.seed.scripted_provider import Answer
from tests.seed.seeder import Seeder, new_id

LONG_TURNS = 150
SUMMARY = "Ada plans a trip to the coast. She wants to see the harbour and the old lighthouse."
# A summary is sent where not everything fits: too few tokens for six turns.
TIGHT = {"HISTORY_POLICY": "summary", "HISTORY_TOKENS": "220"}
MARKDOWN = """A short plan:

1. **Morning**: the harbour.
2. **Afternoon**: the lighthouse, `2 km` on foot.

| tide | time |
|---|---|
| high | 11:40 |
| low | 17:55 |

```python
def hours(minutes: int) -> float:
    return minutes / 60
```
"""


async def short(seeder: Seeder) -> str:
    conversation = new_id()
    request = seeder.request(conversation, seeder.agent("demo"))
    await seeder.say(request, "What can I see at the coast in one day?", Answer(text=MARKDOWN))
    thought = "The last boat leaves at six, so the walk must end before."
    answer = Answer(text="Yes, if you start the walk back at five.", reasoning=thought)
    await seeder.say(request, "Can I still catch the last boat?", answer)
    return conversation


async def long(seeder: Seeder) -> str:
    conversation = new_id()
    request = seeder.request(conversation, seeder.agent("demo"))
    for number in range(1, LONG_TURNS + 1):
        await seeder.say(
            request,
            f"Question {number}: what is {number} times {number}?",
            Answer(text=f"{number} times {number} is {number * number}."),
        )
    return conversation


async def tools(seeder: Seeder) -> str:
    """A round with two calls, then one whose call fails, then an answer."""
    conversation = new_id()
    request = seeder.request(conversation, seeder.agent("archivist"))
    await seeder.say(
        request,
        "What time is it, and what is a fifth of 1,955?",
        Answer(text="I look it up.", calls={"clock": {}, "calculator": {"expression": "1955 / 5"}}),
        Answer(calls={"calculator": {"expression": "391 / 0"}}),
        Answer(text="A fifth of 1,955 is **391**. To divide that by zero has no result."),
    )
    return conversation


async def files(seeder: Seeder) -> str:
    conversation = new_id()
    request = seeder.request(conversation, seeder.agent("demo"))
    attached = [
        await seeder.upload("harbour.png", _picture()),
        await seeder.upload("tides.txt", b"high 11:40\nlow 17:55\n"),
    ]
    answer = Answer(text="A quay at low water; the table says that this is at 17:55.")
    await seeder.say(request, "What do these show?", answer, attachments=attached)
    await seeder.say(request, "Thank you.", Answer(text="You are welcome."))
    return conversation


async def failed(seeder: Seeder) -> str:
    conversation = new_id()
    request = seeder.request(conversation, seeder.agent("demo"))
    error = ProviderError("The sample's provider refused the request.", code="sample")
    await seeder.say(request, "Tell me about tides.", Answer(error=error))
    return conversation


async def stopped(seeder: Seeder) -> str:
    conversation = new_id()
    request = seeder.request(conversation, seeder.agent("demo"))
    await seeder.say(request, "Count to a thousand.", Answer(text="One, two, three,", waits=True))
    return conversation


async def interrupted(seeder: Seeder) -> str:
    """What a killed server leaves: a turn with a checkpoint and without an end."""
    conversation, answer = new_id(), new_id()
    new = NewTurn(
        owner=seeder.owner,
        conversation=conversation,
        agent=seeder.agent("demo"),
        client_id=new_id(),
        answer=answer,
        reach=Everything(),
    )
    user = Message.user("Tell me a long story.", id=new_id())
    begun = await begin_turn(new, user=user, greeting=())
    written = Checkpoint(turn=begun.turn, answer=answer, text="Once upon a time, at the coast,")
    await save_checkpoints([written])
    await end_interrupted(conversation=conversation)
    return conversation


async def marked(seeder: Seeder) -> str:
    """A line above which all is forgotten; below it a pin, a message left out and a reply."""
    conversation = new_id()
    request = seeder.request(conversation, seeder.agent("demo"))
    for topic in ("the tides", "the harbour", "the lighthouse", "the boats", "the weather"):
        answer = Answer(text=f"There is much to say about {topic}.")
        await seeder.say(request, f"What should I know about {topic}?", answer)
    shown = [view.message for view in (await seeder.open(conversation)).messages]
    users = [message.id for message in shown if message.role == "user"]
    answers = [message.id for message in shown if message.role == "assistant"]
    await forget_above_message(owner=seeder.owner, message=users[1], on=True)
    await pin_message(owner=seeder.owner, message=users[2], on=True)
    await exclude_message(owner=seeder.owner, message=answers[-2], on=True)
    text, answer = "And in the winter?", Answer(text="In the winter the lighthouse is closed.")
    await seeder.say(request, text, answer, reply_to=users[2])
    return conversation


async def versions(seeder: Seeder) -> str:
    conversation = new_id()
    request = seeder.request(conversation, seeder.agent("demo"))
    ended = await seeder.say(request, "Name a colour.", Answer(text="Blue."))
    for text in ("Green.", "Red."):
        assert ended.message is not None
        ended = await seeder.say_again(request, ended.message.message.id, Answer(text=text))
    return conversation


async def summarised(seeder: Seeder) -> str:
    """Six turns, a summary of the first four, and a turn that was answered with it."""
    conversation = new_id()
    request = seeder.request(conversation, seeder.agent("demo"))
    for topic in ("trains", "hotels", "the harbour", "the lighthouse", "boats", "the weather"):
        answer = Answer(text=f"Here is what I found about {topic}.")
        await seeder.say(request, f"I plan a trip to the coast. Find out about {topic}.", answer)
    start = await unsummarised_path(owner=seeder.owner, conversation=conversation)
    folded = [entry for entry in start.entries if entry.message.role != "system"][:8]
    await fold_summary(
        owner=seeder.owner,
        conversation=conversation,
        start=start,
        folded=folded,
        messages=len(folded),
        text=SUMMARY,
        by="sample",
        tokens=TokenCount(count=len(SUMMARY.split()), tokenizer="words", basis="estimated"),
        report={},
    )
    under_summary = Seeder(seeder.owner, environment=TIGHT)
    try:
        answer = Answer(text="You wanted to see the harbour and the old lighthouse.")
        await under_summary.say(request, "What did I want to see?", answer)
    finally:
        under_summary.close()
    return conversation


async def background(seeder: Seeder) -> str:
    conversation = await short(seeder)
    for text in ("The boat at 18:00 is cancelled.", "The next boat leaves at 19:30."):
        await add_message(conversation=conversation, source="briefing", text=text)
    return conversation


async def imported(seeder: Seeder) -> str:
    """A conversation with marks, saved to a file and restored from it."""
    original = await marked(seeder)
    whole = await whole_path(owner=seeder.owner, conversation=original)
    saved = read_export(write_export(whole))
    view = await import_conversation(
        owner=seeder.owner,
        agent=saved.agent,
        title=saved.title,
        messages=saved.messages,
        pinned=saved.pinned,
        excluded=saved.excluded,
        unanswered=saved.unanswered,
        forget_above=saved.forget_above,
    )
    await delete_conversation(owner=seeder.owner, conversation=original)
    return view.id


def _picture() -> bytes:
    image = Image.new("RGB", (480, 270), "#9fc5e8")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 170, 480, 270), fill="#2f5d8a")
    draw.rectangle((90, 140, 330, 200), fill="#8a6d4b")
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


Sample = Callable[[Seeder], Awaitable[str]]
SAMPLES: dict[str, Sample] = {
    "A short talk": short,
    f"A long talk: {LONG_TURNS} turns": long,
    "Tool calls, one of them failed": tools,
    "Attached files": files,
    "A failed answer": failed,
    "A stopped answer": stopped,
    "An interrupted answer": interrupted,
    "Pinned, left out, forgotten, replied to": marked,
    "Three versions of an answer": versions,
    "A running summary": summarised,
    "Messages of a background task": background,
    "Restored from a file": imported,
}
