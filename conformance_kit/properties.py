"""The properties: each with its sentence, its checks, and why it doesn't bind a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conformance_kit import checks
from conformance_kit.search import Check

NO_RECORD = "it returns messages without a record"
KNOWS_NO_CLEANUP = "no cleanup ran before it"
KNOWS_NO_FAILURE = "it isn't told which answers failed"
HAS_ITS_OWN_CUT = "it may drop what it likes; how much it keeps is measured"


@dataclass(frozen=True)
class Property:
    """`checks` look at a request only. `unbound` is the reason why a function that trims isn't
    bound by the property, "" where it is."""

    sentence: str
    checks: tuple[Check, ...] = ()
    unbound: str = ""


QUOTES_NOTHING = "it quotes nothing of its own"


PROPERTIES: Mapping[str, Property] = {
    "P1": Property(
        "every result follows its call, and every call has all its results",
        (checks.p1_calls_and_results_are_whole,),
    ),
    "P2": Property(
        "a message is sent as it was stored or not at all, and reasoning never stands alone",
        (checks.p2_reasoning_never_stands_alone, checks.p2_messages_are_untouched),
    ),
    "P3": Property("after the instructions a user begins", (checks.p3_a_user_begins,)),
    "P4": Property("the current turn ends it", (checks.p4_the_current_turn_ends_it,)),
    "P5": Property(
        "the message being asked is there, whole and once; what can't fit is refused aloud",
        (checks.p5_the_current_message_is_there_untouched,),
    ),
    "P6": Property("it is never empty", (checks.p6_never_empty,)),
    "P7": Property(
        "instructions come first, all of them and in their order; pinned turns stay",
        (checks.p7_instructions_first_and_kept,),
    ),
    "P8": Property("it takes no more tokens than allowed", (checks.p8_within_the_limit,)),
    "P9": Property(
        "messages keep their order, and none comes twice", (checks.p9_in_order_and_once,)
    ),
    "P10": Property("more room never sends less", (checks.p10_more_room_sends_more,)),
    "P11": Property(
        "the length counts user messages, and a longer one never sends less",
        unbound="it has no length",
    ),
    "P12": Property(
        "choosing again from what was chosen changes nothing",
        (checks.p12_deciding_again_changes_nothing,),
    ),
    "P13": Property(
        "the same messages give the same request, and they are left as they were",
        (checks.p13_the_same_input_gives_the_same_request,),
    ),
    "P14": Property("ids and metadata don't matter", (checks.p14_names_and_metadata_dont_matter,)),
    "P15": Property(
        "the beginning stays while it fits",
        unbound="it isn't told where its last cut was; the replay measures what that costs",
    ),
    "P16": Property("what fits is not touched", (checks.p16_what_fits_is_not_touched,)),
    "P17": Property("summary and what is kept are together the whole", unbound="it has no summary"),
    "P18": Property(
        "what is remembered belongs to this path",
        unbound="it remembers nothing: it is given the path each time (P22)",
    ),
    "P19": Property(
        "the tool rounds that are running stay", (checks.p19_the_running_tool_rounds_stay,)
    ),
    "P20": Property("sums are those of the messages", unbound=NO_RECORD),
    "P21": Property("wrong or missing evidence does no harm", unbound="it is given no evidence"),
    "P22": Property("nothing comes from elsewhere", (checks.p22_nothing_comes_from_elsewhere,)),
    "P23": Property(
        "every message has one verdict, and what is said to be sent is sent", unbound=NO_RECORD
    ),
    "P24": Property("what a cleanup unloaded stays out", unbound=KNOWS_NO_CLEANUP),
    "P25": Property("nothing comes in the place of what was unloaded", unbound=KNOWS_NO_CLEANUP),
    "P26": Property(
        "a cleanup takes whole older turns, spared ones never, and what it leaves stays",
        unbound="no cleanup runs in it",
    ),
    "P27": Property(
        "the newest turns have the strongest claim: a cut leaves two where they fit, and its share "
        "of the room",
        unbound=HAS_ITS_OWN_CUT,
    ),
    "P28": Property(
        "a quote stays before the message it was made for while the beginning stays, and nothing "
        "is sent twice",
        unbound=QUOTES_NOTHING,
    ),
    "P29": Property("the request is rebuilt from its receipt, byte for byte", unbound=NO_RECORD),
    "P30": Property("what is said of what is left out is true", unbound=NO_RECORD),
    "P31": Property(
        "a message whose answer failed isn't sent again with later ones", unbound=KNOWS_NO_FAILURE
    ),
}


def checks_of_function() -> Mapping[str, Sequence[Check]]:
    """By property: the checks that a function from messages to messages can be tried with."""
    return {name: bound.checks for name, bound in PROPERTIES.items() if not bound.unbound}
