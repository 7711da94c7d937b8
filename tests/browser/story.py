"""A conversation for the pictures: a person's questions and the fake provider's answers."""

from __future__ import annotations

from tests.browser.chat import Chat

WALK = [
    (
        "Four of us want to walk along the coast for three days in May. What do we plan first?",
        "Plan the **nights** first, then the distances between them:\n\n"
        "1. Choose three villages that are 15 to 20 km apart.\n"
        "2. Book the rooms. In May two weeks ahead is usually enough.\n"
        "3. Look up the bus that brings you back to the start.",
    ),
    (
        "Each of us can spend 90 euros a day. How much is that for everybody?",
        "Four people for three days at 90 euros are 4 × 3 × 90 = **1,080 euros**.",
    ),
    (
        "Split it: two nights, food for three days, and the bus.",
        "| For | Each | All four |\n|---|---:|---:|\n| Two nights | 120 € | 480 € |\n"
        "| Food and the bus | 120 € | 480 € |\n| **Together** | **240 €** | **960 €** |\n\n"
        "That leaves 30 euros each, 120 in all, for a rainy day.",
    ),
    (
        "Write that as a Python function, so that I can change the numbers.",
        "With the number of people as its argument:\n\n```python\n"
        "def left_over(people: int, each: int = 270) -> int:\n"
        '    """What remains of the budget, in euros."""\n'
        "    return people * (each - 120 - 120)\n```\n\n"
        "For the four of you, `left_over(4)` is 120.",
    ),
]
ITINERARY = (
    "On the first day you leave the harbour to the north and follow the path above the cliffs, "
    "past two small bays where you can swim at low water. Behind the second one a lane leads "
    "inland.\n\n"
)
DRAFT = "And if a fifth person comes along?"

OTHERS = [
    (
        "Names for a reading group",
        "We meet on Sunday evenings. What could our reading group be called?",
        "*The Last Chapter*, *Sunday Pages* or simply *Seven O'Clock Readers*.",
    ),
    (
        "Why tides come twice a day",
        "Why is there high water twice a day and not once?",
        "The moon pulls hardest on the water nearest to it and least on the water opposite.",
    ),
    (
        "A politer word for “no”",
        "How do I turn down an invitation without hurting anybody?",
        "Thank them first, say no in one clear sentence, and offer another day if you mean it.",
    ),
]
REASON = "In this course every group has the same short memory to work with."


def restore_others(chat: Chat) -> None:
    """Import conversations for the list, the first one on top."""
    for title, question, reply in reversed(OTHERS):
        turns = [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]
        saved = {
            "format": "chatsite.conversation", "version": 1, "agent": "demo", "title": title,
            "messages": turns,
        }  # fmt: skip
        assert chat.ask("POST", "/conversations/import", saved).ok
