"""Which tools an agent has, and the reasons for the missing ones."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from chatsite.agents.template_file import parse_template
from chatsite.providers.known.servers import SERVERS
from chatsite.tools.mcp.config_file import ToolServer
from chatsite.tools.mcp.connections import LONGEST_NAME, ToolServers
from chatsite.tools.search_history import SearchHistory, SearchResult
from chatsite.tools.tool import Tool, ToolContext, schema_fault
from chatsite.tools.toolbox import MOST_TOOLS, AgentTools, Toolbox
from chatsite.turns.evidence.looking_back import RecallTool
from chatsite.turns.evidence.recall import Recaller
from chatsite.wiring.parts import builtin

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
CRUDE = str(Path(__file__).resolve().parent.parent / "fakes" / "crude_mcp_server.py")


async def find_nothing(**query: Any) -> SearchResult:
    """Storage without any conversation."""
    return SearchResult(hits=(), messages=0, conversations=0, whole=True)


def a_toolbox(servers: ToolServers) -> Toolbox:
    search, recall = SearchHistory(find_nothing), RecallTool(Recaller())
    return Toolbox(builtin(now=lambda: NOON, search_history=search, recall=recall), servers)


def tools_of(*nodes: str, **configurations: Mapping[str, object]) -> AgentTools:
    return a_toolbox(ToolServers([], logs=Path())).for_nodes(nodes, configurations)


def reasons(found: AgentTools) -> dict[str, str]:
    assert len({tool.name for tool in found.missing}) == len(found.missing)
    return {tool.name: tool.reason for tool in found.missing}


def test_the_built_in_tools_meet_the_limits_of_every_provider() -> None:
    names = ["clock", "calculator", "search_history", "recall"]
    found = tools_of(*names)
    assert [tool.name for tool in found.tools] == names
    assert not found.missing
    for tool in found.tools:
        assert not schema_fault(tool.parameters)
        assert 20 < len(tool.description) < 1_024


async def test_a_template_may_set_the_clocks_zone() -> None:
    (clock,) = tools_of("clock", clock={"zone": "Asia/Tokyo"}).tools
    time: Any = await clock.run({}, ToolContext(owner=None, conversation="here"))
    assert time["time"] == "2026-05-04T21:00:00+09:00"
    for bad in ("Mars/Olympus", 3):
        found = tools_of("clock", clock={"zone": bad})
        assert not found.tools and "zone" in reasons(found)["clock"]


def test_an_unknown_tool_is_listed_as_missing_with_a_reason() -> None:
    found = tools_of("search", "mcp.notes", "mcp.notes.read", "mcp.", "clock")
    assert [tool.name for tool in found.tools] == ["clock"]
    assert reasons(found) == {
        "search": "there is no tool of that name here",
        "mcp.notes": "no tool server of that name is set up here",
        "mcp.notes.read": "no tool server of that name is set up here",
        "mcp.": "there is no tool of that name here",
    }


async def test_a_node_adds_all_tools_of_a_server_or_the_named_one(tmp_path: Path) -> None:
    crude = ToolServer(name="crude", command=sys.executable, args=("-S", CRUDE, "fine"))
    gone = ToolServer(name="gone", command=str(tmp_path / "none"))
    servers = ToolServers([crude, gone], logs=tmp_path)
    toolbox = a_toolbox(servers)
    nodes = ["mcp.crude", "mcp.crude.fine", "mcp.crude.odd", "mcp.crude.none", "mcp.gone", "clock"]
    before = reasons(toolbox.for_nodes(nodes, {}))
    servers.start()
    try:
        await servers.ready(["crude", "gone"], seconds=30)
        await toolbox.ready(nodes)
        found = toolbox.for_nodes(nodes, {})
        (one,) = toolbox.for_nodes(["mcp.crude.with spaces/and.dots"], {}).tools
        many = toolbox.for_nodes(["clock", "mcp.crude"], {})
    finally:
        await servers.stop()
    assert before["mcp.crude"] == "its tool server is missing: it is still being started"
    names = [tool.name for tool in found.tools]
    assert names[0] == "crude__fine" and names[-1] == "clock"
    assert len(names) == len(set(names)) == 6
    assert all(len(name) <= LONGEST_NAME for name in names)
    odd = "what it says of its arguments is no JSON schema of an object"
    assert reasons(found) == {
        "mcp.crude.odd": odd,
        "mcp.crude.none": "its tool server has no tool of that name",
        "mcp.gone": "its tool server is missing: its program can't be started",
    }
    assert one.name.startswith("crude__with_spaces")
    assert many.tools[0].name == "clock"
    after = reasons(toolbox.for_nodes(["mcp.crude"], {}))
    assert "its tool server is missing" in after["mcp.crude"]


def test_an_agent_has_no_more_tools_than_providers_accept() -> None:
    def a_tool(name: str) -> Tool:
        (clock,) = tools_of("clock").tools
        return Renamed(name, clock)

    many = {f"tool{n}": lambda _, n=n: a_tool(f"tool{n}") for n in range(MOST_TOOLS + 2)}
    found = Toolbox(many, ToolServers([], logs=Path())).for_nodes(list(many), {})
    assert len(found.tools) == MOST_TOOLS
    assert list(reasons(found)) == [f"tool{MOST_TOOLS}", f"tool{MOST_TOOLS + 1}"]


class Renamed:
    def __init__(self, name: str, tool: Tool) -> None:
        self.name, self.description, self.parameters = name, tool.description, tool.parameters
        self.run = tool.run


# Every node in AgentDock's 35 public templates, with the models' configurations in them.
PROVIDERS: Mapping[str, Mapping[str, object]] = {
    "anthropic": {"model": "claude-3-7-sonnet-20250219", "temperature": 0.7, "maxTokens": 4096},
    "gemini": {
        "model": "gemini-2.0-flash-exp",
        "useCustomApiKey": False,
        "useSearchGrounding": True,
        "safetySettings": [{"category": "X", "threshold": "Y"}],
    },
    "groq": {"model": "llama-3.3-70b-versatile", "temperature": 0.7, "maxTokens": 4096},
    "deepseek": {"model": "deepseek-chat", "temperature": 0, "maxTokens": 8192},
    "cerebras": {"model": "llama3.1-8b", "provider": "cerebras", "apiKey": "${CEREBRAS_API_KEY}"},
}
TOOLS = (
    *("search", "think", "deep_research", "reflect", "compare", "critique", "brainstorm", "debate"),
    *("pubmed_search", "pubmed_fetch", "stock_price", "snowtracer", "weather", "crypto_price"),
    *("trending_cryptos", "generate_image", "openalex_search", "openalex_fetch", "arxiv_search"),
    *("arxiv_fetch", "semantic_scholar_search", "semantic_scholar_paper"),
    "semantic_scholar_author",
)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_node_of_agentdocks_templates_is_a_provider_a_tool_or_named_as_missing(
    provider: str,
) -> None:
    template = parse_template(
        "from-agentdock",
        {
            "version": "1.0",
            "agentId": "from-agentdock",
            "name": "From AgentDock",
            "description": "As it comes.",
            "personality": ["You are helpful.", "You use tools."],
            "nodes": [f"llm.{provider}", *TOOLS],
            "nodeConfigurations": {
                f"llm.{provider}": PROVIDERS[provider],
                "search": {"maxResults": 8},
            },
            "chatSettings": {"historyPolicy": "lastN", "historyLength": 50},
            "options": {"maxSteps": 10},
        },
    )
    assert template.llms == (provider,) and provider in SERVERS
    assert template.model_settings(provider).model == PROVIDERS[provider]["model"]
    assert template.max_steps == 10
    found = tools_of(*template.tools, **template.configurations)
    assert {tool.name for tool in found.tools} | set(reasons(found)) == set(TOOLS)
