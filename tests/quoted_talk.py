"""A talk in which a question is quoted what was said of a cat, long before."""

from __future__ import annotations

from typing import Any

QUERY = "historyPolicy=relevant&historyTokens=2000"
CAT = "The cat is called Tabitha and sleeps on the piano"
WEATHER = ("rain", "snow", "fog", "hail", "frost", "thunder", "drizzle", "sleet", "dew", "haze")
TALK = (
    f"{CAT} [[text=A fine name for a cat.]]",
    *(f"Tell me of {what}, at length [[tokens=97]]" for what in WEATHER),
)
# It says something too, so its quotes take few tokens and outlast a cut.
QUESTION = "I forgot a name. What was the cat called?"
AFTER = "Good, thank you [[text=You are welcome.]]"


def block_in(messages: list[dict[str, Any]]) -> list[int]:
    """The places of the messages that quote what was said of the cat."""
    return [place for place, message in enumerate(messages) if is_quote(message)]


def earlier_blocks(messages: list[dict[str, Any]]) -> list[int]:
    """Those that stand before an earlier message than the last one."""
    return [place for place in block_in(messages) if place < len(messages) - 1]


def is_quote(message: dict[str, Any]) -> bool:
    text = str(message["content"])
    return "Earlier parts of this conversation" in text and CAT in text
