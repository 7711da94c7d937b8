"""How many examples a run takes: HYPOTHESIS_PROFILE is `quick`, `normal`, `full` or `thorough`."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

LANE = os.environ.get("HYPOTHESIS_PROFILE", "normal")
# A fifth of the examples finds a plain mistake as surely; `make test-all` takes a third of them.
_PARTS = {"quick": 30, "normal": 5, "full": 3, "thorough": 1}
_FEWEST = 5


def some(examples: int) -> int:
    """So many of `examples` as this run takes."""
    return max(examples // _PARTS[LANE], min(examples, _FEWEST))


# The examples of the history's properties are the same in every run, so that a failure is never a
# matter of luck; those of `make properties` are new each time.
REPEATABLE = settings(
    max_examples={"thorough": 100_000, "full": 600}.get(LANE) or some(600),
    deadline=None,
    derandomize=LANE != "thorough",
    print_blob=LANE == "thorough",
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
