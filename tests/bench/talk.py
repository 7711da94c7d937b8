"""A long conversation on no special subject, about 75 tokens a turn with the chat template."""

from __future__ import annotations

from tests.token_ids import RoleText

PLACES = "harbour market bridge mill garden station library bakery tower ferry island".split()
THINGS = "lamp map bicycle violin ladder clock kettle drawing lantern saddle letter basket".split()
PEOPLE = "Anna Boris Clara David Edith Felix Greta".split()

QUESTIONS = (
    "On day {n} {who} took the {thing} to the {place}. What should be done with it there?",
    "Number {n} on my list says: {place}, {thing}, ask {who}. How would you begin with that?",
    "Who but {who} could mend a {thing} for the {place} before day {n}?",
)
ANSWERS = (
    "Take the {thing} to {who} first and note day {n} in the book of the {place}. When the rain is "
    "over, look at its handle, and if number {n} is still free, leave it there until {who} asks.",
    "I would ask at the {place} before {n} in the afternoon. {who} knows the {thing} well, and it "
    "costs less than {n} crowns; what is left can go into a tin for the next {thing}.",
    "Begin with the {place}, since {who} is there until {n}. A {thing} is heavier than it seems, "
    "so go in two ways of {n} steps each, and let {who} carry what belongs to the {place}.",
)


def talk(turns: int, *, number: int = 0) -> list[RoleText]:
    """`turns` whole turns. Conversations with different numbers differ from the first words on."""
    return [message for turn in range(turns) for message in _turn(number, turn)]


def question(turn: int, *, number: int = 0) -> str:
    """The question after `turn` turns."""
    return _turn(number, turn)[0][1]


def _turn(number: int, turn: int) -> tuple[RoleText, RoleText]:
    # The factors have no divisor in common with the lists' lengths, so that turns differ.
    step = number * 53 + turn
    words = {
        "n": 100 + step,
        "who": PEOPLE[step * 3 % len(PEOPLE)],
        "thing": THINGS[step * 5 % len(THINGS)],
        "place": PLACES[step * 7 % len(PLACES)],
    }
    return (
        ("user", QUESTIONS[step % len(QUESTIONS)].format(**words)),
        ("assistant", ANSWERS[step // 2 % len(ANSWERS)].format(**words)),
    )
