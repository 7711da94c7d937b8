"""Reading the file of tool servers, and the errors it may have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatsite.errors import BadSetting
from chatsite.tools.mcp.config_file import ToolServer, tool_servers

CANARY = "sk-canary-of-the-tools-file"
ENVIRONMENT = {"TOKEN": CANARY, "EMPTY": "  "}


def read(path: Path, document: object) -> tuple[ToolServer, ...]:
    file = path / "tools.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return tool_servers(file, environment=ENVIRONMENT)


def test_programs_and_addresses_are_read(tmp_path: Path) -> None:
    notes, search = read(
        tmp_path,
        {
            "mcpServers": {
                "notes": {
                    "command": "notes",
                    "args": ["-r", "${TOKEN}"],
                    "env": {"A": "${TOKEN}!"},
                },
                "my_search-2": {
                    "type": "http",
                    "url": "https://example.org/mcp",
                    "headers": {"Authorization": "Bearer ${TOKEN}"},
                },
            }
        },
    )
    assert notes.args == ("-r", "${TOKEN}")
    assert notes.env == {"A": f"{CANARY}!"}
    assert search.headers == {"Authorization": f"Bearer {CANARY}"}
    assert CANARY not in repr((notes, search))


def test_an_empty_list_of_servers_is_allowed(tmp_path: Path) -> None:
    assert read(tmp_path, {"mcpServers": {}}) == ()


PROGRAM = {"command": "x"}
REMOTE = {"url": "https://example.org/mcp"}


@pytest.mark.parametrize(
    ("servers", "place", "reason"),
    [
        ([], "mcpServers", "must be an object"),
        ({"a.b": PROGRAM}, "mcpServers.a.b", "32 letters, digits"),
        ({"a__b": PROGRAM}, "mcpServers.a__b", "single _"),
        ({"a_": PROGRAM}, "mcpServers.a_", "single _"),
        ({"a": 1}, "mcpServers.a", "must be an object"),
        ({"a": {}}, "mcpServers.a", "either command or url"),
        ({"a": PROGRAM | REMOTE}, "mcpServers.a", "either command or url"),
        ({"a": PROGRAM | {"headers": {}}}, "mcpServers.a.headers", "args, command, cwd, env, type"),
        ({"a": REMOTE | {"env": {}}}, "mcpServers.a.env", "headers, type, url"),
        ({"a": {"command": " "}}, "mcpServers.a.command", "text that isn't empty"),
        ({"a": PROGRAM | {"args": "x"}}, "mcpServers.a.args", "a list of texts"),
        ({"a": PROGRAM | {"args": [1]}}, "mcpServers.a.args.0", "must be text"),
        ({"a": PROGRAM | {"type": "http"}}, "mcpServers.a.type", "stdio"),
        ({"a": REMOTE | {"type": "sse"}}, "mcpServers.a.type", "streamable HTTP"),
        ({"a": {"url": "ftp://x"}}, "mcpServers.a.url", "http:// or https://"),
        ({"a": {"url": f"https://u:{CANARY}@x"}}, "mcpServers.a.url", "belongs in headers"),
        ({"a": {"url": "https://x/${TOKEN}"}}, "mcpServers.a.url", "without ${...}"),
        ({"a": REMOTE | {"headers": {"A": "x\ny"}}}, "mcpServers.a.headers.A", "one line"),
        ({"a": PROGRAM | {"env": {"A=B": ""}}}, "mcpServers.a.env.A=B", "no name"),
        ({"a": PROGRAM | {"env": {"A": "${NONE}"}}}, "mcpServers.a.env.A", "NONE, which isn't set"),
        ({"a": PROGRAM | {"env": {"A": "${EMPTY}"}}}, "mcpServers.a.env.A", "EMPTY, which isn't"),
        ({"a": PROGRAM | {"env": {"A": "${A-b}"}}}, "mcpServers.a.env.A", "holds a ${"),
    ],
    ids=str,
)
def test_a_wrong_value_is_named_with_its_place_and_never_quoted(
    tmp_path: Path, servers: object, place: str, reason: str
) -> None:
    with pytest.raises(BadSetting) as caught:
        read(tmp_path, {"mcpServers": servers})
    message = caught.value.message
    assert message.startswith(f"TOOLS_FILE='{tmp_path}/tools.json': {place}: ")
    assert reason in message and CANARY not in message


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{", "line 1, column 2"), ("[]", '{"mcpServers": {...}}'), ("x" * 1_048_577, "1 MiB")],
)
def test_an_unreadable_file_is_reported(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(BadSetting) as caught:
        read(tmp_path, text)
    assert reason in caught.value.message
    with pytest.raises(BadSetting, match="can't be read: no such file"):
        tool_servers(tmp_path / "none.json", environment={})
