"""The form in which a receipt is stored: small, and shown whole again."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.errors import BadSetting
from chatsite.history import Decision, resolve
from chatsite.history.decision.receipt import VERSION, show_receipt
from chatsite.history.settings.row import Setting
from chatsite.history.settings.stored_settings import read_settings, show_settings, store_settings
from chatsite.history.settings.table import CONVERSATION_ROWS, HISTORY_ROWS, URL_NAMES
from conformance_kit.strategies.cases import cases
from conformance_kit.trials import PolicyRefused
from tests.conformance.built_in.variants import VARIANTS, Variant
from tests.history.decision.test_golden_receipts import CASES, receipt

# Good and bad, of every kind, also what only looks like a value.
RAW = st.sampled_from(
    [
        *("none", "lastN", "all", "tokens", "relevant", "summary", "strategy", "LASTN", "lexical"),
        *("triage", "0", "1", "7", "20", "50", "400", "1e3", "-1", "true", "off", "", " ", "é\0"),
    ]
)
TEMPLATE_RAW = st.one_of(RAW, st.integers(-1, 60), st.booleans(), st.floats(0, 9), st.none())
URL = st.dictionaries(st.sampled_from([*URL_NAMES, "historylength", "HistoryPolicy"]), RAW)
VARIABLES = [name for row in HISTORY_ROWS.values() for name in row.environment] + [
    *("HISTORY_URL", "HISTORY_MAX_LENGTH", "HISTORY_REASON", "CONVERSATION_ENABLED"),
    "CONVERSATION_LOOKBACK_COUNT",
]
ENVIRONMENT = st.dictionaries(st.sampled_from(VARIABLES), RAW | st.just("staff"), max_size=3)
TEMPLATE = st.dictionaries(
    st.sampled_from(
        [row.template for row in HISTORY_ROWS.values()] + ["historylength", "Conversation"]
    ),
    TEMPLATE_RAW,
) | st.fixed_dictionaries(
    {
        "conversation": st.dictionaries(
            st.sampled_from([*CONVERSATION_ROWS, "lookbackCount"]), TEMPLATE_RAW
        )
        | RAW,
        "historyPolicy": RAW,
        "historySelector": RAW,
    }
)


def through_json(found: dict[str, object]) -> dict[str, object]:
    said: dict[str, object] = json.loads(json.dumps(found))
    return said


def as_shown(setting: Setting[Any]) -> dict[str, Any]:
    """Without the sources that say nothing."""
    found = setting.to_dict()
    return found | {"said": [one for one in found["said"] if one["outcome"] != "absent"]}


@given(
    environment=ENVIRONMENT,
    url=URL,
    conversation=URL,
    template=TEMPLATE,
    url_allowed=st.booleans(),
)
def test_settings_are_shown_as_they_were_resolved(
    environment: dict[str, str],
    url: dict[str, str],
    conversation: dict[str, str],
    template: dict[str, object],
    url_allowed: bool,
) -> None:
    try:
        settings = resolve(
            environment=environment,
            url=url,
            conversation=conversation,
            template=template,
            url_allowed=url_allowed,
        )
    except BadSetting:
        return  # such a server doesn't start
    read = read_settings(through_json(store_settings(settings)))
    shown = show_settings(read)
    names = [name for name in shown if name != "conversation"]
    assert names == list(HISTORY_ROWS)
    for name in names:
        assert shown[name] == as_shown(getattr(settings, name)), name
    assert shown["conversation"] == {
        name: as_shown(setting) for name, setting in settings.conversation_in_force.items()
    }
    assert (read.words, read.active_policy) == (settings.words, settings.active_policy)
    assert read.sources_in_words == settings.sources_in_words
    assert read.active_policy.scope(read.terms) == settings.active_policy.scope(settings.terms)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_a_decision_is_shown_as_it_was_made(variant: Variant) -> None:
    @given(case=cases())
    def holds(case: object) -> None:
        try:
            decision = variant.run(case).decision  # type: ignore[arg-type]
        except PolicyRefused:
            return
        shown = show_receipt(through_json(decision.to_stored()))
        assert shown == decision.to_dict()
        check_shown(shown, decision)

    holds()


def check_shown(shown: dict[str, object], decision: Decision) -> None:
    """Every value of the decision is there; a sentence of its own is the one that is shown."""
    verdicts = shown["verdicts"]
    assert isinstance(verdicts, list) and len(verdicts) == len(decision.verdicts)
    for one, verdict in zip(verdicts, decision.verdicts, strict=True):
        told = {field.name: getattr(verdict, field.name) for field in fields(verdict)}
        why = told.pop("why")
        assert one["sentence"] == why or not why and one["sentence"]
        assert {name: one[name] for name in told} == told
    assert shown["parts"] == [part.to_dict() for part in decision.parts]
    assert shown["layout"] == [item.to_dict() for item in decision.layout]
    assert [shown[name] for name in ("window", "reply", "limit", "prompt_tokens", "budget")] == [
        decision.window.size,
        decision.window.reply,
        decision.limit,
        decision.tokens,
        decision.settings.tokens.value,
    ]
    assert [shown[name] for name in ("horizon", "leading", "cut", "quoted", "notes")] == [
        decision.horizon,
        decision.leading,
        decision.cut,
        list(decision.quoted),
        list(decision.notes),
    ]
    assert (shown["locked"], shown["lock_reason"], shown["in_words"]) == (
        decision.settings.locked,
        decision.settings.lock_reason,
        decision.settings.words,
    )


@pytest.mark.parametrize("name", CASES)
def test_a_stored_receipt_has_no_sentence_that_a_code_says(name: str) -> None:
    stored, shown = receipt(name, "stored"), receipt(name, "shown")
    assert len(json.dumps(stored)) < len(json.dumps(shown)) / 2
    assert "sentence" not in json.dumps(stored)
    assert not any(value in (None, [], {}, "", False) for value in stored.values() if value != 0)
    assert stored["version"] == VERSION


def test_a_receipt_of_a_policy_that_is_gone_can_still_be_read() -> None:
    stored = receipt("lastN", "stored")
    stored["settings"]["policy"]["value"] = "oldest"
    shown = show_receipt(stored)
    assert shown["facts"]["policy"] == shown["in_words"] == "oldest"
    assert all(verdict["sentence"] for verdict in shown["verdicts"])


def test_a_receipt_with_a_reason_that_is_gone_can_still_be_read() -> None:
    stored = receipt("lastN", "stored")
    stored["verdicts"][0]["reason"] = "too_old"
    assert show_receipt(stored)["verdicts"][0]["sentence"] == "too old"
