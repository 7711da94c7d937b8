"""The folder of agents on disk: which agents are found, changes, and faults with their reasons."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsite.agents.catalogue import Catalogue, describe_broken
from chatsite.agents.template import BrokenTemplate, Template
from chatsite.checked_file import parse_json
from chatsite.errors import BadFile, NotFound

SHIPPED = Path(__file__).parents[2] / "agents"


class Clock:
    """A clock that only the test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def put(folder: Path, slug: str, content: str | bytes | None = None, **more: object) -> Path:
    """Write `content` as an agent's template; None writes a valid template with the keys `more`."""
    file = folder / slug / "template.json"
    file.parent.mkdir(exist_ok=True)
    if content is None:
        content = json.dumps({"name": slug.title(), "personality": "You help.", **more})
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def the_broken(folder: Path) -> BrokenTemplate:
    (agent,) = Catalogue(folder).all()
    assert isinstance(agent, BrokenTemplate)
    return agent


def test_agents_are_sorted_by_priority_then_name_and_broken_ones_come_last(tmp_path: Path) -> None:
    put(tmp_path, "aaa", "no json")
    put(tmp_path, "zeta", priority=1)
    put(tmp_path, "beta", priority=2)
    put(tmp_path, "alpha", priority=2)
    put(tmp_path, "anyone")
    slugs = [agent.slug for agent in Catalogue(tmp_path).all()]
    assert slugs == ["zeta", "alpha", "beta", "anyone", "aaa"]


def test_an_agent_is_found_by_its_folder_whatever_it_calls_itself(tmp_path: Path) -> None:
    put(tmp_path, "ada", agentId="someone-else")
    template = Catalogue(tmp_path).get("ada")
    assert (template.slug, template.agent_id) == ("ada", "someone-else")


@pytest.mark.parametrize("slug", ["", "nobody", "../ada", "ada/../ada", "/etc", "ada\0", "."])
def test_a_slug_is_looked_up_and_never_joined_to_a_path(tmp_path: Path, slug: str) -> None:
    put(tmp_path, "ada")
    with pytest.raises(NotFound, match="no agent of that name"):
        Catalogue(tmp_path).get(slug)


def test_a_broken_agent_cannot_answer_and_its_file_is_named_to_those_who_may_see_it(
    tmp_path: Path,
) -> None:
    put(tmp_path, "ada", name=3)
    catalogue = Catalogue(tmp_path)
    with pytest.raises(NotFound, match="its template is broken. The conversation is kept") as told:
        catalogue.get("ada")
    assert "template.json" not in told.value.message
    (broken,) = catalogue.all()
    assert isinstance(broken, BrokenTemplate)
    assert describe_broken(broken) == "ada/template.json: name: must be text, not a number"


def test_a_changed_file_is_picked_up_within_a_second(tmp_path: Path) -> None:
    clock = Clock()
    catalogue = Catalogue(tmp_path, clock=clock)
    put(tmp_path, "ada", description="old")
    assert catalogue.get("ada").description == "old"
    put(tmp_path, "ada", description="a new description")
    assert catalogue.get("ada").description == "old"
    clock.now += 1
    assert catalogue.get("ada").description == "a new description"


def test_agents_can_be_added_and_removed_without_a_restart(tmp_path: Path) -> None:
    clock = Clock()
    catalogue = Catalogue(tmp_path, clock=clock)
    file = put(tmp_path, "ada")
    assert [agent.slug for agent in catalogue.all()] == ["ada"]
    put(tmp_path, "bob")
    file.unlink()
    file.parent.rmdir()
    clock.now += 1
    assert [agent.slug for agent in catalogue.all()] == ["bob"]


def test_an_unchanged_file_is_not_read_again(tmp_path: Path) -> None:
    clock = Clock()
    catalogue = Catalogue(tmp_path, clock=clock)
    put(tmp_path, "ada")
    put(tmp_path, "bob", "no json")
    before = catalogue.all()
    clock.now += 1
    assert all(now is then for now, then in zip(catalogue.all(), before, strict=True))


def test_a_broken_file_is_listed_as_broken_until_it_is_repaired(tmp_path: Path) -> None:
    clock = Clock()
    catalogue = Catalogue(tmp_path, clock=clock)
    put(tmp_path, "ada")
    assert isinstance(catalogue.all()[0], Template)
    put(tmp_path, "ada", "{")
    clock.now += 1
    assert isinstance(catalogue.all()[0], BrokenTemplate)
    put(tmp_path, "ada")
    clock.now += 1
    assert catalogue.get("ada").name == "Ada"


def test_files_and_hidden_folders_beside_the_agents_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Hello")
    (tmp_path / ".git").mkdir()
    assert Catalogue(tmp_path).all() == ()


@pytest.mark.parametrize(
    ("content", "key", "reason"),
    [
        (b"", "", "is not valid JSON: line 1, column 1"),
        (b'{\n  "name": "Ada"\n  "tags"}', "", "is not valid JSON: line 3, column 3"),
        (b'{"name": "\xff"}', "", "is not UTF-8 text: byte 11 is wrong"),
        (b'{"name": "Ada", "name": "Bob"}', "name", "stands twice"),
        (b'{"priority": NaN}', "", "NaN is not a JSON number"),
        (b'{"priority": ' + b"1" * 5000 + b"}", "", "too many digits"),
        (b"[" * 200_000, "", "nested too deeply"),
        (b"[]", "", "must be an object, not a list"),
        (b'{"name": "Ada", "personality": 1}', "personality", "must be text, not a number"),
        (b" " * (1024 * 1024) + b"{}", "", "is larger than 1 MiB"),
    ],
    ids=["empty", "comma", "utf-8", "twice", "nan", "digits", "deep", "list", "type", "huge"],
)
def test_a_broken_file_is_named_with_key_and_reason(
    tmp_path: Path, content: bytes, key: str, reason: str
) -> None:
    put(tmp_path, "ada", content)
    broken = the_broken(tmp_path)
    assert (broken.slug, broken.file, broken.key) == ("ada", "ada/template.json", key)
    assert reason in broken.reason
    assert str(tmp_path) not in describe_broken(broken)


def test_a_byte_order_mark_is_allowed(tmp_path: Path) -> None:
    put(tmp_path, "ada", '\ufeff{"name": "Ada", "personality": "You help."}')
    assert Catalogue(tmp_path).get("ada").name == "Ada"


def test_a_folder_without_a_template_is_broken(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    assert the_broken(tmp_path).reason == "there is no such file"


def test_a_template_that_is_a_folder_is_broken(tmp_path: Path) -> None:
    (tmp_path / "ada" / "template.json").mkdir(parents=True)
    assert the_broken(tmp_path).reason == "is not a file"


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    (tmp_path / "ada").mkdir()
    os.mkfifo(tmp_path / "ada" / "template.json")
    assert the_broken(tmp_path).reason == "is not a file"


@pytest.mark.parametrize("name", ["Ada", "ada lovelace", "-ada", "ädä", "a" * 65, "ada.old"])
def test_a_folder_whose_name_cannot_be_part_of_a_link_is_broken(tmp_path: Path, name: str) -> None:
    put(tmp_path, name)
    broken = the_broken(tmp_path)
    assert broken.file == f"{name}/template.json"
    assert "1 to 64 of a-z" in broken.reason


def test_a_folder_whose_name_is_not_text_is_broken_and_shown_printably(tmp_path: Path) -> None:
    os.mkdir(os.fsencode(tmp_path) + b"/\xff\x1b[31m")
    assert the_broken(tmp_path).slug == "\\udcff\\x1b[31m"


@pytest.mark.parametrize("linked", ["folder", "file"])
def test_a_link_out_of_the_folder_is_refused(tmp_path: Path, linked: str) -> None:
    agents, outside = tmp_path / "agents", tmp_path / "outside"
    agents.mkdir()
    outside.mkdir()
    target = put(outside, "ada")
    if linked == "folder":
        (agents / "ada").symlink_to(target.parent)
    else:
        (agents / "ada").mkdir()
        (agents / "ada" / "template.json").symlink_to(target)
    assert "leads out of the folder" in the_broken(agents).reason


def test_a_link_within_the_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / ".data").mkdir()
    put(tmp_path / ".data", "ada")
    (tmp_path / "ada").symlink_to(tmp_path / ".data" / "ada")
    assert Catalogue(tmp_path).get("ada").name == "Ada"


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    put(tmp_path / "real", "ada")
    (tmp_path / "agents").symlink_to(tmp_path / "real")
    assert Catalogue(tmp_path / "agents").get("ada").name == "Ada"


def test_dangling_and_circular_links_are_broken(tmp_path: Path) -> None:
    (tmp_path / "nothing").symlink_to(tmp_path / "gone")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    assert [type(agent) for agent in Catalogue(tmp_path).all()] == [BrokenTemplate, BrokenTemplate]


def test_a_missing_folder_of_agents_is_reported_without_its_path(tmp_path: Path) -> None:
    broken = the_broken(tmp_path / "gone")
    assert broken.reason == "the folder of agents can't be read: no such file or directory"


def test_templates_in_the_format_of_agentdock_work_as_they_are(tmp_path: Path) -> None:
    put(
        tmp_path,
        "researcher",
        version="1.0",
        agentId="researcher",
        personality=["You look things up.", "You cite."],
        nodes=["llm.cerebras", "search", "think"],
        nodeConfigurations={
            "llm.cerebras": {
                "model": "some-70b",
                "temperature": 0.6,
                "maxTokens": 4096,
                "useCustomApiKey": True,
                "apiKey": {"required": True, "instructions": "the console of the service"},
                "safetySettings": [{"category": "X", "threshold": "Y"}],
            },
            "search": {"maxResults": 8},
        },
        chatSettings={
            "historyPolicy": "lastN",
            "historyLength": 25,
            "initialMessages": ["Welcome!"],
            "chatPrompts": ["What is new?"],
            "placeholderText": "Ask",
        },
        options={"maxSteps": 5, "tokenOptimization": {"compressToolOutputs": True}},
        orchestration={"description": "x", "steps": [{"name": "A", "isDefault": True}]},
        tags=["research"],
        notes="Needs a key.",
        isEnabled=True,
        maxConcurrency=2,
    )
    template = Catalogue(tmp_path).get("researcher")
    assert [key.place for key in template.unused] == [
        "orchestration",
        "maxConcurrency",
        "nodeConfigurations.llm.cerebras.useCustomApiKey",
        "nodeConfigurations.llm.cerebras.apiKey",
        "nodeConfigurations.llm.cerebras.safetySettings",
        "options.tokenOptimization",
    ]
    assert template.llms == ("cerebras",)
    assert template.model_settings("cerebras").max_tokens == 4096
    assert "the console of the service" not in repr(template)


def test_the_shipped_agents_are_whole_and_show_the_policies() -> None:
    agents = {agent.slug: agent for agent in Catalogue(SHIPPED).all()}
    assert list(agents)[0] == "demo"
    policies = set()
    for agent in agents.values():
        assert isinstance(agent, Template)
        assert agent.unused == ()
        assert agent.agent_id == agent.slug
        assert agent.llms == ("openai", "anthropic", "embedded")
        assert agent.description and agent.personality and agent.greeting and agent.tags
        assert 3 <= len(agent.prompts) <= 4
        assert agent.model_settings("embedded").trained_personality
        assert agent.model_settings("embedded").max_tokens == 256
        policies.add((agent.chat_settings["historyPolicy"], bool(agent.prefilled)))
    shown = {("lastN", False), ("all", False), ("none", False), ("lastN", True)}
    assert policies == shown | {("strategy", False)}


# A number and, up to two words on, what a length or a budget counts: "your last 20 exchanges".
COUNTED = re.compile(
    r"\b(\d[\d,]*|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|fifty)"
    r"\b(\W+\w+){0,2}?\W+(messages?|exchanges?|turns?|questions?|answers?|tokens?)\b",
    re.IGNORECASE,
)


def test_the_shipped_agents_promise_no_number_that_the_settings_may_overrule() -> None:
    assert COUNTED.search("It remembers your last 20 exchanges.")
    assert COUNTED.search("I see our last five of your messages.")
    for agent in Catalogue(SHIPPED).all():
        assert isinstance(agent, Template)
        for text in (agent.description, *agent.greeting):
            assert not COUNTED.search(text), (agent.slug, text)


@pytest.mark.slow
@given(data=st.binary() | st.text().map(str.encode) | st.text('[]{}",:1\\u ').map(str.encode))
def test_any_bytes_give_a_document_or_a_reason(data: bytes) -> None:
    try:
        parse_json(data)
    except BadFile as error:
        assert error.message
