"""Three sets of very long conversations, with questions whose evidence is known.

None is part of the project; each is a file that a bench is given by name. `LOCOMO`, the set of
two people who talk: `data/locomo10.json` of github.com/snap-research/locomo (CC BY-NC 4.0).
`REALMEM`, ten people's chats with an assistant in which a question is an ordinary message in the
middle: github.com/AvatarMemory/RealMemBench (Apache-2.0). `BEAM`, chats with an assistant of about
500,000 tokens: github.com/mohammadtavakoli78/BEAM (no licence of its own).

The two last have to be brought into the shape of the first: a list of conversations, each with
`sample_id`, `conversation` and `qa`. `conversation` has the names `speaker_a` and `speaker_b`
("Asker" and "Replier" in a chat with an assistant) and for each session its messages
(`session_1`, with `dia_id`, `speaker` and `text`) and its time (`session_1_date_time`, "1:56 pm on
8 May, 2023"). An entry of `qa` has `question`, `evidence` (the `dia_id`s that hold the answer) and
`category`, and may have `ability` (the kind of question by name) and `until` (the `dia_id` before
which its history ends; without it, the question is asked at the end). The file may be gzipped.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

# The kinds that ask for facts. BEAM's others are served by whole chats, or by standing wishes.
BEAM_FACTS = frozenset(
    {
        "information_extraction",
        "temporal_reasoning",
        "knowledge_update",
        "multi_session_reasoning",
        "contradiction_resolution",
    }
)
_CATEGORIES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
_UNANSWERABLE = "adversarial"
_WITH_ASSISTANT = ("Asker", "Replier")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A set of conversations: its title, and where anyone can get it."""

    title: str
    where: str


# By the name of the option; in capitals, that of the environment's variable.
SOURCES: Mapping[str, Source] = {
    "locomo": Source(
        title="LoCoMo", where="data/locomo10.json of github.com/snap-research/locomo (CC BY-NC 4.0)"
    ),
    "realmem": Source(
        title="RealMem",
        where="github.com/AvatarMemory/RealMemBench (Apache-2.0), in LoCoMo's shape",
    ),
    "beam": Source(
        title="BEAM", where="github.com/mohammadtavakoli78/BEAM (500K), in LoCoMo's shape"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A message. `at` is the time of its session plus a minute for every message before it."""

    id: str
    author: str
    text: str
    session: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`evidence` are positions of the messages that hold the answer; never empty. `until` is the
    number of messages that stand before the question."""

    text: str
    kind: str
    evidence: frozenset[int]
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """`with_assistant`: the first author is a person, the second the assistant."""

    name: str
    authors: tuple[str, str]
    with_assistant: bool
    spoken: tuple[Spoken, ...]
    questions: tuple[Question, ...]


def missing(given: Iterable[str]) -> str:
    """What to say of the sets that no file was given for; "" where none is missing."""
    lacking = [name for name in SOURCES if name not in set(given)]
    return "\n".join(
        f"{SOURCES[name].title} isn't part of the project: {SOURCES[name].where}.\n"
        f"{name.upper()}=path/to/the/file make bench measures with it."
        for name in lacking
    )


def read(path: Path) -> list[Dialogue]:
    """The file's dialogues. Questions that no message of the conversation answers are left out."""
    packed = path.read_bytes()
    text = gzip.decompress(packed) if path.suffix == ".gz" else packed
    return [_dialogue(found) for found in json.loads(text)]


def _dialogue(found: Mapping[str, Any]) -> Dialogue:
    conversation = found["conversation"]
    spoken = tuple(_spoken(conversation))
    places = {message.id: place for place, message in enumerate(spoken)}
    authors = (conversation["speaker_a"], conversation["speaker_b"])
    questions = (_question(asked, places) for asked in found["qa"])
    return Dialogue(
        name=found["sample_id"],
        authors=authors,
        with_assistant=authors == _WITH_ASSISTANT,
        spoken=spoken,
        questions=tuple(q for q in questions if q.evidence and q.kind != _UNANSWERABLE),
    )


def _spoken(conversation: Mapping[str, Any]) -> Iterable[Spoken]:
    sessions = sorted(
        int(m[1]) for key in conversation if (m := re.fullmatch(r"session_(\d+)", key))
    )
    for session in sessions:
        began = _time(conversation[f"session_{session}_date_time"])
        for minute, message in enumerate(conversation[f"session_{session}"]):
            yield Spoken(
                id=message["dia_id"],
                author=message["speaker"],
                text=_text(message),
                session=session,
                at=began + timedelta(minutes=minute),
            )


def _question(asked: Mapping[str, Any], places: Mapping[str, int]) -> Question:
    return Question(
        text=asked["question"],
        kind=asked.get("ability") or _CATEGORIES[asked["category"]],
        evidence=_places(asked["evidence"], places),
        until=places[asked["until"]] if asked.get("until") else len(places),
    )


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _text(message: Mapping[str, Any]) -> str:
    """The message's text; a picture is represented by its caption."""
    text: str = message["text"]
    return f"{text} [{message['blip_caption']}]" if message.get("blip_caption") else text


def _places(evidence: Sequence[str], places: Mapping[str, int]) -> frozenset[int]:
    """The evidence's places. Labels may name several messages or have a stray colon or zero."""
    ids = [
        f"D{session}:{int(number)}"
        for label in evidence
        for session, number in re.findall(r"D:?(\d+):(\d+)", label)
    ]
    return frozenset(places[id] for id in ids if id in places)
