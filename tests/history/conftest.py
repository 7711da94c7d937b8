"""How many examples the properties run: HYPOTHESIS_PROFILE is `quick`, `normal` or `thorough`."""

from hypothesis import HealthCheck, settings

# Normal examples are the same in every run, so that a failure is never a matter of luck.
settings.register_profile(
    "normal",
    max_examples=600,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough",
    parent=settings.get_profile("normal"),
    max_examples=100_000,
    derandomize=False,
    print_blob=True,
)
# For `make quick` only: a tenth of the examples finds a plain mistake in a tenth of the time.
settings.register_profile("quick", parent=settings.get_profile("normal"), max_examples=60)
