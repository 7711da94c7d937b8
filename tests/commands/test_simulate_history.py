"""What the replay of stored conversations prints, and which options it refuses."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tests.commands.simulate_history import (
    Command,
    ProgressLine,
    SimulationReport,
    as_table,
)
from tests.commands.simulation import SimulationTotals


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("--length", "-1", "from 0 to"),
        ("--tokens", "0", "from 1 to"),
        ("--tokens", "2.5", "whole number"),
        ("--low-water", "101", "from 1 to 100"),
        ("--limit", "0", "from 1 to"),
        ("--policy", "lastn", "lastn"),
    ],
)
def test_a_bad_value_is_refused_by_the_rules_of_the_settings(
    option: str, value: str, why: str
) -> None:
    with pytest.raises(CommandError, match=why):
        call_command(Command(), f"{option}={value}")


def test_each_policy_is_one_line_and_the_current_policy_is_the_first() -> None:
    found = SimulationReport(conversations=2, asking={"relevant, triage"}, skipped=["x: no agent."])
    found.add(
        "all", SimulationTotals(turns=3, messages=9, tokens=1_500, leading=750, groups=4, cost=0.5)
    )
    found.add(
        "all", SimulationTotals(turns=1, messages=1, tokens=500, groups_left_out=1, too_large=2)
    )
    found.add("as set", SimulationTotals(turns=4, tokens=10, cost=None))
    lines = as_table(found).splitlines()
    assert (
        lines[0].split() == "policy turns messages tokens reused tool groups left out cost".split()
    )
    assert lines[1].startswith("as set") and lines[1].endswith("no price known")
    assert lines[2].split() == "all 4 10 2,000 37 % 1 of 4 $0.5000".split()
    rest = "\n".join(lines[3:])
    assert "2 conversations" in rest and "relevant, triage: chosen on sending" in rest
    assert "all: 2 more turns would not have fitted" in rest and "Skipped x: no agent." in rest


def test_a_long_run_prints_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    progress = ProgressLine(said.append, "conversation 2 of 9")
    progress.tick("all")
    assert said == []
    monkeypatch.setattr(progress, "_said", -1e9)
    progress.tick("all")
    assert said == ["conversation 2 of 9: all, 2 turns replayed"]
