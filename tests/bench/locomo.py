"""LoCoMo's conversations: two people in many sessions, and questions with known evidence.

The data is not part of the project (CC BY-NC 4.0): `data/locomo10.json` of
github.com/snap-research/locomo. `LOCOMO=that/file make bench` measures with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

WHERE = (
    "LoCoMo is not part of the project (CC BY-NC 4.0). Get data/locomo10.json from\n"
    "github.com/snap-research/locomo and name it: LOCOMO=path/to/locomo10.json make bench"
)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ADVERSARIAL = 5


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
    """`evidence` are positions of the messages that hold the answer; never empty."""

    text: str
    category: int
    evidence: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    name: str
    authors: tuple[str, str]
    spoken: tuple[Spoken, ...]
    questions: tuple[Question, ...]

    @property
    def answerable(self) -> list[Question]:
        return [q for q in self.questions if q.category != ADVERSARIAL]


def read(path: Path) -> list[Dialogue]:
    """The ten dialogues. Questions without evidence in the conversation are left out."""
    return [_dialogue(found) for found in json.loads(path.read_text(encoding="utf-8"))]


def _dialogue(found: Mapping[str, Any]) -> Dialogue:
    conversation = found["conversation"]
    sessions = sorted(
        int(m[1]) for key in conversation if (m := re.fullmatch(r"session_(\d+)", key))
    )
    spoken: list[Spoken] = []
    for session in sessions:
        began = _time(conversation[f"session_{session}_date_time"])
        for minute, message in enumerate(conversation[f"session_{session}"]):
            spoken.append(
                Spoken(
                    id=message["dia_id"],
                    author=message["speaker"],
                    text=_text(message),
                    session=session,
                    at=began + timedelta(minutes=minute),
                )
            )
    places = {message.id: place for place, message in enumerate(spoken)}
    questions = (
        Question(text=q["question"], category=q["category"], evidence=found_in)
        for q in found["qa"]
        if (found_in := _places(q["evidence"], places))
    )
    return Dialogue(
        name=found["sample_id"],
        authors=(conversation["speaker_a"], conversation["speaker_b"]),
        spoken=tuple(spoken),
        questions=tuple(questions),
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
