"""Which property binds which policy, what checks it, and the reason for each absence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from chatsite.conformance import growth, properties
from chatsite.conformance.properties import Seen

BUILT = ("none", "lastN", "all")


@dataclass(frozen=True)
class Property:
    """`absent` gives the reason for every policy that the property doesn't bind."""

    checks: tuple[Callable[[Seen], None], ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)


def for_all(reason: str) -> dict[str, str]:
    return dict.fromkeys(BUILT, reason)


PROPERTIES: Mapping[str, Property] = {
    "P1": Property((properties.p1_calls_and_results_are_whole,)),
    "P2": Property(
        (properties.p2_reasoning_never_stands_alone, properties.p22_nothing_comes_from_elsewhere)
    ),
    "P3": Property((properties.p3_a_user_begins,)),
    "P4": Property((properties.p4_the_current_turn_ends_it,)),
    "P5": Property((properties.p5_the_current_message_is_there_untouched,)),
    "P6": Property((properties.p6_never_empty,)),
    "P7": Property((properties.p7_instructions_first_and_pins_kept,)),
    "P8": Property((properties.p8_within_the_limit,)),
    "P9": Property((properties.p9_in_order_and_once,)),
    "P10": Property((properties.p10_more_room_sends_more,)),
    "P11": Property(
        (properties.p11_length_counts_user_messages, properties.p10_a_longer_length_sends_more),
        absent=dict.fromkeys(("none", "all"), "it has no length"),
    ),
    "P12": Property((properties.p12_deciding_again_changes_nothing,)),
    "P13": Property((properties.p13_the_same_input_gives_the_same_bytes,)),
    "P14": Property((properties.p14_names_and_metadata_dont_matter,)),
    "P15": Property(
        (growth.p15_a_cut_stays_while_it_fits,),
        absent={
            "none": "it sends no history, so nothing of it can stay",
            "lastN": "without a step its cut moves with every turn beyond the length",
        },
    ),
    "P16": Property((properties.p16_what_fits_is_not_touched,)),
    "P17": Property(absent=for_all("no summary is written")),
    "P18": Property(
        absent=for_all("nothing is remembered by key: a request holds the given path only (P22)")
    ),
    "P19": Property((properties.p19_the_running_tool_rounds_stay,)),
    "P20": Property((properties.p20_sums_are_those_of_the_messages,)),
    "P21": Property((properties.p21_wrong_evidence_does_no_harm,)),
    "P22": Property((properties.p22_nothing_comes_from_elsewhere,)),
    "P23": Property((properties.p23_every_message_has_one_verdict,)),
}


def checks_of(policy: str) -> list[Callable[[Seen], None]]:
    """Each check once, in the order of the table."""
    found = [
        check
        for bound in PROPERTIES.values()
        if policy not in bound.absent
        for check in bound.checks
    ]
    return list(dict.fromkeys(found))
