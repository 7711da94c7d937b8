"""Lines that tell the model on which day a turn begins, and what isn't shown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from conformance_kit.strategies.adapter import PolicyCase
from conformance_kit.strategies.cases import cases
from tests.conformance.built_in.policy_properties import checks_of
from tests.conformance.built_in.variants import VARIANTS, Variant
from tests.examples import REPEATABLE
from tests.history.decision.test_properties import check_loaded_part, trial_or_too_large

ON = {"historyTell": True, "historyDates": True, "historyRecallTool": True}


@pytest.mark.examples
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_every_property_holds_with_lines_of_our_own(variant: Variant) -> None:
    @settings(REPEATABLE, max_examples=max(1, REPEATABLE.max_examples // 4))
    @given(case=cases())
    def holds(case: PolicyCase) -> None:
        case = replace(case, options={**case.options, **ON})
        trial = trial_or_too_large(case, variant)
        if trial is not None:
            for check in checks_of(variant.name):
                check(trial)
            check_loaded_part(trial)

    holds()
