"""Which files of sessions are deleted at a limit of size, and which engines may share them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chatsite.kv_cache.books import Fingerprint, SessionFile, outdated
from tests.kv_cache.examples import repeatable

files = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), max_size=8).map(
    lambda drawn: [SessionFile(str(n), size, float(used)) for n, (size, used) in enumerate(drawn)]
)


@repeatable
@given(files, st.integers(0, 200))
def test_the_least_recently_used_are_deleted_and_no_more_than_needed(
    kept: list[SessionFile], limit: int
) -> None:
    gone = outdated(kept, limit=limit)
    assert len(set(gone)) == len(gone)
    left = [one for one in kept if one.key not in gone]
    taken = sum(one.size for one in left)
    assert taken <= limit
    if gone:
        last = max((one for one in kept if one.key in gone), key=lambda one: one.used)
        # An empty file may stay, however old it is.
        assert all(one.used >= last.used for one in left if one.size)
        newer = sum(one.size for one in left if one.used >= last.used)
        assert newer + last.size > limit


def test_nothing_is_deleted_while_everything_fits() -> None:
    assert outdated([SessionFile("a", 5, 1.0), SessionFile("b", 5, 2.0)], limit=10) == []


def test_a_limit_of_zero_keeps_nothing() -> None:
    assert set(outdated([SessionFile("a", 5, 1.0), SessionFile("b", 5, 2.0)], limit=0)) == {
        "a",
        "b",
    }


def test_two_engines_share_a_fingerprint_only_if_everything_is_the_same() -> None:
    one = Fingerprint(model="m", engine="1", cache="f16", window=4096)
    others = [
        Fingerprint(model="n", engine="1", cache="f16", window=4096),
        Fingerprint(model="m", engine="2", cache="f16", window=4096),
        Fingerprint(model="m", engine="1", cache="q8_0", window=4096),
        Fingerprint(model="m", engine="1", cache="f16", window=2048),
    ]
    assert len({str(one), *map(str, others)}) == 5
