"""Which property binds what, its sentence, what checks it, and the reason for each absence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chatsite.conformance import cleanups, growth, properties, records
from chatsite.conformance.trying import Check
from chatsite.conformance.variants import CLEANED, LAST_N, STEPWISE, SUMMARY, VARIANTS

FUNCTION = "a function"
KNOWS_NO_CLEANUP = "no cleanup ran before it"
BUILT = tuple(variant.name for variant in VARIANTS)


@dataclass(frozen=True)
class Property:
    """`checks` need a request only, `of_record` the record of the choice too.

    `absent` gives the reason for each variant of ours, and for functions that trim, that the
    property doesn't bind.
    """

    sentence: str
    checks: tuple[Check, ...] = ()
    of_record: tuple[Check, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)


def for_ours(reason: str) -> dict[str, str]:
    return dict.fromkeys(BUILT, reason)


PROPERTIES: Mapping[str, Property] = {
    "P1": Property(
        "every result follows its call, and every call has all its results",
        (properties.p1_calls_and_results_are_whole,),
    ),
    "P2": Property(
        "a message is sent as it was stored or not at all, and reasoning never stands alone",
        (properties.p2_reasoning_never_stands_alone, properties.p2_messages_are_untouched),
    ),
    "P3": Property(
        "after the instructions a user begins",
        (properties.p3_a_user_begins,),
    ),
    "P4": Property(
        "the current turn ends it",
        (properties.p4_the_current_turn_ends_it,),
    ),
    "P5": Property(
        "the message being asked is there, whole and once; what can't fit is refused aloud",
        (properties.p5_the_current_message_is_there_untouched,),
    ),
    "P6": Property(
        "it is never empty",
        (properties.p6_never_empty,),
    ),
    "P7": Property(
        "instructions come first, all of them and in their order; pinned turns stay",
        (properties.p7_instructions_first_and_kept,),
        (records.p7_pins_are_kept,),
    ),
    "P8": Property(
        "it takes no more tokens than allowed",
        (properties.p8_within_the_limit,),
        (records.p8_the_limit_is_the_smaller_one,),
    ),
    "P9": Property(
        "messages keep their order, and none comes twice",
        (properties.p9_in_order_and_once,),
    ),
    "P10": Property(
        "more room never sends less",
        (properties.p10_more_room_sends_more,),
        (records.p10_a_wider_policy_sends_more,),
        absent={
            "summary": "with more room for it the summary takes the place of turns",
            "all with a cleanup": "a budget's overflow is the guard's, which may leave more",
        },
    ),
    "P11": Property(
        "the length counts user messages, and a longer one never sends less",
        (),
        (records.p11_length_counts_user_messages, records.p10_a_longer_length_sends_more),
        absent=dict.fromkeys({*BUILT, FUNCTION} - {LAST_N.name, STEPWISE.name}, "it has no length"),
    ),
    "P12": Property(
        "choosing again from what was chosen changes nothing",
        (properties.p12_deciding_again_changes_nothing,),
        absent={
            "lastN with a step": "it counts its steps from the beginning, which is then gone",
            "strategy": "it may send an answer without its question, which is then a greeting",
        },
    ),
    "P13": Property(
        "the same messages give the same request, and they are left as they were",
        (properties.p13_the_same_input_gives_the_same_request,),
        (records.p13_the_same_input_gives_the_same_record,),
    ),
    "P14": Property(
        "ids and metadata don't matter",
        (properties.p14_names_and_metadata_dont_matter,),
    ),
    "P15": Property(
        "the beginning stays while it fits",
        (),
        (growth.p15_the_beginning_stays,),
        absent={
            "none": "it sends no history, so nothing of it can stay",
            "lastN": "without a step its cut moves with every turn beyond the length",
            "relevant, triage": "it chooses turn by turn, for each message anew",
            "summary": "its tail begins where the summary ends",
            "strategy": "it chooses message by message, for each message anew",
            FUNCTION: "it isn't told where its last cut was; the replay measures what that costs",
        },
    ),
    "P16": Property(
        "what fits is not touched",
        (properties.p16_what_fits_is_not_touched,),
    ),
    "P17": Property(
        "summary and what is kept are together the whole",
        (),
        (records.p17_the_summary_stands_for_what_it_covers,),
        absent=dict.fromkeys({*BUILT, FUNCTION} - {SUMMARY.name}, "it has no summary"),
    ),
    "P18": Property(
        "what is remembered belongs to this path",
        absent=for_ours(
            "a request holds the given path only (P22); what is kept beside it is tried"
        )
        | {FUNCTION: "it remembers nothing: it is given the path each time (P22)"},
    ),
    "P19": Property(
        "the tool rounds that are running stay",
        (properties.p19_the_running_tool_rounds_stay,),
    ),
    "P20": Property(
        "sums are those of the messages",
        (),
        (records.p20_sums_are_those_of_the_messages, growth.p20_what_stayed_the_same_is_counted),
        absent={FUNCTION: "it returns messages without a record"},
    ),
    "P21": Property(
        "wrong or missing evidence does no harm",
        (),
        (records.p21_wrong_evidence_does_no_harm, records.p21_without_evidence_the_newest_are_sent),
        absent={FUNCTION: "it is given no evidence"},
    ),
    "P22": Property(
        "nothing comes from elsewhere",
        (properties.p22_nothing_comes_from_elsewhere,),
        (records.p22_what_is_written_has_its_sources,),
    ),
    "P23": Property(
        "every message has one verdict, and what is said to be sent is sent",
        (),
        (records.p23_every_message_has_one_verdict, records.p23_the_layout_is_the_request),
        absent={FUNCTION: "it returns messages without a record"},
    ),
    "P24": Property(
        "what a cleanup unloaded stays out",
        (),
        (cleanups.p24_what_was_unloaded_stays_out,),
        absent={FUNCTION: KNOWS_NO_CLEANUP},
    ),
    "P25": Property(
        "nothing comes in the place of what was unloaded",
        (),
        (cleanups.p25_nothing_comes_in_its_place,),
        absent={
            "relevant, triage": "its newest are counted among what may be sent",
            FUNCTION: KNOWS_NO_CLEANUP,
        },
    ),
    "P26": Property(
        "a cleanup takes whole older turns, spared ones never, and what it leaves stays",
        (),
        (cleanups.p26_a_cleanup_takes_whole_turns, cleanups.p26_what_it_left_stays),
        absent=dict.fromkeys({*BUILT, FUNCTION} - {CLEANED.name}, "no cleanup runs in it"),
    ),
}


def checks_of(variant: str) -> list[Check]:
    """Each check of one of our variants once, in the order of the table."""
    found: list[Check] = []
    for bound in PROPERTIES.values():
        if variant not in bound.absent:
            found += [check for check in (*bound.checks, *bound.of_record) if check not in found]
    return found


def checks_of_function() -> Mapping[str, Sequence[Check]]:
    """By property: the checks that a function from messages to messages can be tried with."""
    return {
        name: bound.checks for name, bound in PROPERTIES.items() if FUNCTION not in bound.absent
    }
