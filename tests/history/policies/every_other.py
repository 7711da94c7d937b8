"""The eighth policy that a test adds: every other turn, without the newest of the older ones.

No policy of the program has its name, so that the test can't hide a real one.
"""

from __future__ import annotations

from chatsite.history.path.transcript import PathTurn
from chatsite.history.path.turn_verdicts import PolicyChoice, TurnRule
from chatsite.history.policies.base import DecisionContext, Everything, Policy

SENT, LEFT_OUT = TurnRule(reason="within_length"), TurnRule(reason="over_length")


def choose_every_other(context: DecisionContext) -> PolicyChoice:
    """Leave out the turn before the current one, send the turn before that, and so on."""
    newest_first = [turn.entries[0].seq for turn in reversed(context.path.older)]
    sent = set(newest_first[1::2])

    def rule(turn: PathTurn) -> TurnRule:
        return SENT if turn.entries[0].seq in sent else LEFT_OUT

    return PolicyChoice(rule=rule, tail=None)


EVERY_OTHER = Policy(
    name="exampleEveryOther",
    title="Every other turn",
    about="Half of the conversation, all the way back.",
    label="exampleEveryOther",
    words=lambda terms: "every other turn",
    scope=lambda terms: "every other turn",
    reach=lambda terms: Everything(),
    choose=choose_every_other,
    beyond_reach="over_length",
)
