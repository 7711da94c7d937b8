"""The page gets all it needs about policies from the server and contains no policy's name."""

from __future__ import annotations

import re

from chatsite.history import POLICIES
from chatsite.history.settings.table import ROWS
from chatsite.web.pages import policy_facts
from tests.running import ROOT

MODULES = sorted((ROOT / "static/chat").rglob("*.js"))
NAMES = "|".join(sorted({*POLICIES.names, *POLICIES.selectors}))
# Other things have some of these names too: settings, parts of a request, elements, CSS values.
# So these names count only where a policy is compared or looked up, other names everywhere.
PLAIN = "all|none|summary|tokens"
DISTINCT = "|".join(name for name in NAMES.split("|") if name not in PLAIN.split("|"))
COMPARED = re.compile(
    rf"""(?:policy|selector|key)(?:\.value|\b)[^\n;]{{0,20}}[!=]==?\s*["'](?:{NAMES})["']"""
    rf"""|["'](?:{NAMES})["']\s*[!=]==?[^\n;]{{0,30}}(?:policy|selector|key)\b"""
    rf"""|case\s+["'](?:{NAMES})["']"""
)
LITERAL_NAME = re.compile(rf"""["'`](?:{DISTINCT})["'`: ]|\b(?:{DISTINCT}):\s*["'`{{(]""")
# A reason of a verdict, not the policy: messages that were chosen because they matter.
REASON = 'one.reason === "relevant"'


def test_the_names_that_only_policies_have_are_listed() -> None:
    assert set(DISTINCT.split("|")) == {"lastN", "relevant", "strategy", "lexical", "triage"}


def test_no_module_of_the_page_names_a_policy() -> None:
    for module in MODULES:
        text = re.sub(r"/\*.*?\*/", "", module.read_text(), flags=re.DOTALL).replace(REASON, "")
        assert LITERAL_NAME.findall(text) == [], module
        assert COMPARED.findall(text) == [], module


def test_a_policys_name_is_detected() -> None:
    """The check would be blind otherwise, and nobody would notice."""
    for line in (
        'if (decision.settings.policy.value !== "summary") return "";',
        'const tokens = facts.policy === "tokens";',
        'case "all":',
        'const TITLES = { triage: "Matches, by a fast model" };',
        "words: `triage: ${name}`",
        'if (selector === "lexical") return;',
    ):
        assert LITERAL_NAME.search(line) or COMPARED.search(line), line


def test_every_report_has_a_title() -> None:
    facts = policy_facts()
    assert facts["report_titles"] == {
        "lexical": "Matches, by keyword",
        "triage": "Matches, by a fast model",
        "summary": "Summary",
        "strategy": "The agent's strategy",
    }
    assert facts["with_summary"] == ["summary"]


def test_the_page_gets_the_words_of_every_setting() -> None:
    words = policy_facts()["settings"]
    assert list(words) == list(ROWS)
    assert words["lookback_count"]["label"] == "triage: lookback count"
    assert all(one["label"] and one["about"].endswith(".") for one in words.values())
    always = [name for name, one in words.items() if one["always_shown"]]
    assert always == ["policy", "length", "tokens"]


def test_no_module_of_the_page_lists_the_settings() -> None:
    """But for words that have another meaning, too."""
    names = "|".join(set(ROWS) - {"policy", "length", "tokens", "step", "selector", "enabled"})
    listed = re.compile(rf"\b({names})\b\s*:")
    assert [module.name for module in MODULES if listed.search(module.read_text())] == []
