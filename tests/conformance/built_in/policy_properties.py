"""Which property binds which of our policies: the checks of the record, and why others don't."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance_kit.properties import PROPERTIES
from conformance_kit.search import Check
from tests.conformance.built_in import (
    cleanup_checks,
    cut_checks,
    growth_checks,
    quote_checks,
    record_checks,
    unanswered_checks,
)
from tests.conformance.built_in.variants import CLEANED, LAST_N, STEPWISE, SUMMARY, VARIANTS

NAMES = tuple(variant.name for variant in VARIANTS)


@dataclass(frozen=True)
class PolicyProperty:
    """`of_record` checks the record of the choice, besides the checks of the kit's property.

    `absent` gives, for a variant that the property doesn't bind, the reason.
    """

    of_record: tuple[Check, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)


def _only(*names: str, reason: str) -> dict[str, str]:
    """The reason for every variant but these."""
    return dict.fromkeys((name for name in NAMES if name not in names), reason)


# A property that isn't listed binds every variant, with the kit's checks alone.
POLICY_PROPERTIES: Mapping[str, PolicyProperty] = {
    "P7": PolicyProperty((record_checks.p7_pins_are_kept,)),
    "P8": PolicyProperty((record_checks.p8_the_limit_is_the_smaller_one,)),
    "P10": PolicyProperty(
        (record_checks.p10_a_wider_policy_sends_more,),
        absent={
            "summary": "with more room for it the summary takes the place of turns",
            "all with a cleanup": "a budget's overflow is the guard's, which may leave more",
        },
    ),
    "P11": PolicyProperty(
        (
            record_checks.p11_length_counts_user_messages,
            record_checks.p10_a_longer_length_sends_more,
        ),
        absent=_only(LAST_N.name, STEPWISE.name, reason="it has no length"),
    ),
    "P12": PolicyProperty(
        absent={
            "lastN with a step": "it counts its steps from the beginning, which is then gone",
            "strategy": "it may send an answer without its question, which is then a greeting",
        },
    ),
    "P13": PolicyProperty((record_checks.p13_the_same_input_gives_the_same_record,)),
    "P15": PolicyProperty(
        (growth_checks.p15_the_beginning_stays,),
        absent={
            "none": "it sends no history, so nothing of it can stay",
            "lastN": "without a step its cut moves with every turn beyond the length",
            "relevant, triage": "it chooses turn by turn, for each message anew",
            "summary": "its tail begins where the summary ends",
            "strategy": "it chooses message by message, for each message anew",
        },
    ),
    "P17": PolicyProperty(
        (record_checks.p17_the_summary_stands_for_what_it_covers,),
        absent=_only(SUMMARY.name, reason="it has no summary"),
    ),
    "P18": PolicyProperty(
        absent=_only(
            reason="a request holds the given path only (P22); what is kept beside it is tried"
        )
    ),
    "P20": PolicyProperty(
        (
            record_checks.p20_sums_are_those_of_the_messages,
            growth_checks.p20_what_stayed_the_same_is_counted,
        )
    ),
    "P21": PolicyProperty(
        (
            record_checks.p21_wrong_evidence_does_no_harm,
            record_checks.p21_without_evidence_the_newest_are_sent,
        )
    ),
    "P22": PolicyProperty((record_checks.p22_what_is_written_has_its_sources,)),
    "P23": PolicyProperty(
        (
            record_checks.p23_every_message_has_one_verdict,
            record_checks.p23_the_layout_is_the_request,
        )
    ),
    "P24": PolicyProperty((cleanup_checks.p24_what_was_unloaded_stays_out,)),
    "P25": PolicyProperty(
        (cleanup_checks.p25_nothing_comes_in_its_place,),
        absent={"relevant, triage": "its newest are counted among what may be sent"},
    ),
    "P26": PolicyProperty(
        (
            cleanup_checks.p26_a_cleanup_takes_whole_turns,
            cleanup_checks.p26_what_it_left_stays,
        ),
        absent=_only(CLEANED.name, reason="no cleanup runs in it"),
    ),
    "P27": PolicyProperty(
        (
            cut_checks.p27_the_newest_have_the_strongest_claim,
            cut_checks.p27_a_cut_leaves_its_share_of_the_room,
            cut_checks.p27_a_longer_length_keeps_the_tail,
        ),
        absent={"strategy": "it ranks what it chose itself, message by message"},
    ),
    "P28": PolicyProperty(
        (
            quote_checks.p28_nothing_is_sent_twice,
            quote_checks.p28_a_quote_stays_while_the_beginning_stays,
            quote_checks.p28_room_is_used_for_what_matters,
            quote_checks.p28_others_send_no_earlier_quotes,
        )
    ),
    "P29": PolicyProperty((quote_checks.p29_the_request_is_rebuilt,)),
    "P30": PolicyProperty(
        (
            cut_checks.p30_no_room_is_said_only_where_there_was_none,
            cut_checks.p30_not_relevant_is_said_only_where_somebody_looked,
        ),
        absent={"strategy": "its messages are fitted before broken groups of calls are dropped"},
    ),
    "P31": PolicyProperty(
        (
            unanswered_checks.p31_an_unanswered_message_stays_out,
            unanswered_checks.p31_once_it_is_included_it_is_as_any_other,
        )
    ),
}


def checks_of(variant: str) -> list[Check]:
    """Each check of one of our variants once, in the order of the properties."""
    found: list[Check] = []
    for number, bound in PROPERTIES.items():
        ours = POLICY_PROPERTIES.get(number, PolicyProperty())
        if variant not in ours.absent:
            found += [check for check in (*bound.checks, *ours.of_record) if check not in found]
    return found
