"""Connections to real tool servers in processes of their own, and to servers that fail."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import uvicorn

from chatsite.tools.mcp.config_file import ToolServer
from chatsite.tools.mcp.connections import Connection, ToolServers, tool_name
from chatsite.tools.tool import ToolContext, ToolError
from chatsite.tools.toolbox import call_tool
from tests.fakes.crude_mcp_server import OBJECT, Told, answer
from tests.fakes.mcp_server import SECRET, app
from tests.running import free_port

FAKES = Path(__file__).resolve().parents[2] / "fakes"
USING = ToolContext(owner=None, conversation="here")
SECONDS = 60.0  # An upper bound for a busy machine; no passing test waits that long.


def real_server(name: str = "real", **more: Any) -> ToolServer:
    return ToolServer(
        name=name, command=sys.executable, args=(str(FAKES / "mcp_server.py"),), **more
    )


def crude_server(manner: str, **more: Any) -> ToolServer:
    script = str(FAKES / "crude_mcp_server.py")
    return ToolServer(name=manner, command=sys.executable, args=("-S", script, manner), **more)


@asynccontextmanager
async def running_servers(*servers: ToolServer, logs: Path) -> AsyncIterator[ToolServers]:
    found = ToolServers(servers, logs=logs, first_pause=0.05)
    found.start()
    try:
        await found.ready([server.name for server in servers], seconds=SECONDS)
        yield found
    finally:
        await found.stop()


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(SECONDS):
        while not true():  # noqa: ASYNC110 - what another process does sets no event here
            await asyncio.sleep(0.01)


def connection_to(servers: ToolServers, name: str) -> Connection:
    found = servers.get(name)
    assert found is not None
    return found


async def call(
    connection: Connection, tool: str, *, seconds: float = SECONDS, **arguments: Any
) -> Any:
    return await asyncio.wait_for(connection.tools[tool].run(arguments, USING), seconds)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


# ---- one process for all tests that leave it running ----------------------------------------
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Connection]:
    logs = tmp_path_factory.mktemp("logs")
    os.environ["NOT_FOR_TOOLS"] = SECRET
    try:
        async with running_servers(real_server(env={"OWN": "yes"}), logs=logs) as servers:
            assert SECRET in (logs / "tools-real.log").read_text()
            yield connection_to(servers, "real")
    finally:
        del os.environ["NOT_FOR_TOOLS"]


async def test_its_tools_are_offered_under_its_name(server: Connection) -> None:
    add = server.tools["add"]
    assert (add.name, add.description) == ("real__add", "Adds two numbers.")
    assert add.parameters["required"] == ["a", "b"]
    assert server.problem == ""


async def test_structure_text_and_pictures_become_json(server: Connection) -> None:
    assert await call(server, "add", a=2, b=3) == {"result": 5}
    assert await call(server, "words") == (
        "A red square:\n[an image (image/png, 4 kB) that can't be shown here]"
    )


async def test_a_tools_error_is_passed_on_in_its_own_words(server: Connection) -> None:
    with pytest.raises(ToolError, match="the drawer is stuck"):
        await call(server, "fail")
    with pytest.raises(ToolError) as caught:
        await call(server, "crash")
    assert SECRET not in caught.value.message


async def test_a_server_sees_only_the_environment_from_the_file(
    server: Connection,
) -> None:
    seen = await call(server, "surroundings")
    assert seen["OWN"] == "yes"
    assert "NOT_FOR_TOOLS" not in seen and SECRET not in str(seen)


async def test_a_call_that_takes_too_long_is_aborted_and_others_continue(
    server: Connection,
) -> None:
    slow = call_tool(
        "real__slow",
        '{"seconds": 30}',
        [server.tools["slow"]],
        USING,
        seconds=0.2,
        room_characters=1_000,
    )
    given_up, quick = await asyncio.gather(slow, call(server, "add", a=1, b=1))
    assert given_up.failed and "TimedOut" in given_up.content
    assert quick == {"result": 2}


async def test_a_tool_added_later_becomes_available(server: Connection) -> None:
    await call(server, "grow", name="dance")
    await until(lambda: "dance" in server.tools)
    assert await call(server, "dance") == {"result": "dance works"}


# ---- processes that end ----------------------------------------------------------------------
async def test_a_server_that_dies_in_a_call_is_started_again(tmp_path: Path) -> None:
    async with running_servers(crude_server("fine", cwd=str(tmp_path)), logs=tmp_path) as servers:
        connection = connection_to(servers, "fine")
        seen = await call(connection, "fine")
        assert seen["folder"] == str(tmp_path)
        kept = connection.tools["fine"]
        with pytest.raises(ToolError, match="was lost"):
            await call(connection, "die")
        await until(lambda: connection.problem)
        assert not connection.tools
        with pytest.raises(ToolError, match="can't be reached now: the connection was lost"):
            await kept.run({}, USING)
        await until(lambda: connection.tools)
        again: Any = await kept.run({}, USING)
        assert again["process"] != seen["process"]
    assert not is_alive(again["process"])


async def test_a_server_that_ends_between_calls_is_noticed(tmp_path: Path) -> None:
    async with running_servers(crude_server("once"), logs=tmp_path) as servers:
        connection = connection_to(servers, "once")
        await until(lambda: connection.problem == "the connection was lost")
        assert not connection.tools


@pytest.mark.slow
async def test_a_server_that_does_not_start_is_reported_and_delays_nobody(tmp_path: Path) -> None:
    missing = ToolServer(name="missing", command=str(tmp_path / "no-such-program"))
    nobody = ToolServer(name="nobody", url=f"http://127.0.0.1:{free_port()}/mcp")
    logs = tmp_path
    async with running_servers(
        missing, nobody, crude_server("ends"), crude_server("lax"), logs=logs
    ) as servers:
        names = ("missing", "nobody", "ends", "lax")
        problems = {name: connection_to(servers, name).problem for name in names}
        silent = ToolServers([crude_server("silent")], logs=logs)
        silent.start()
        await silent.ready(["silent", "unknown"], seconds=0.1)
        assert connection_to(silent, "silent").problem == "it is still being started"
        async with asyncio.timeout(SECONDS / 2):  # it would sleep longer than that
            await silent.stop()
    assert problems == {
        "missing": "its program can't be started",
        "nobody": "nothing answers at its address",
        "ends": "it ended before it answered",
        "lax": "what it says of itself isn't what the protocol allows",
    }


async def test_the_usable_tools_of_an_odd_older_server_can_be_called(tmp_path: Path) -> None:
    async with running_servers(crude_server("noisy"), logs=tmp_path) as servers:
        connection = connection_to(servers, "noisy")
        assert "process" in await call(connection, "fine")
        assert set(connection.unfit) == {"odd"}
        names = [tool.name for tool in connection.tools.values()]
        assert len(set(names)) == len(names) == 5
        odd = connection.tools["with spaces/and.dots"]
        assert odd.name.startswith("noisy__with_spaces_and_dots_") and len(odd.description) == 1024
        with pytest.raises(ToolError, match="isn't what it promised"):
            await call(connection, "liar")


async def test_a_faulty_tool_takes_no_other_away(tmp_path: Path) -> None:
    async with running_servers(crude_server("faulty"), logs=tmp_path) as servers:
        connection = connection_to(servers, "faulty")
        good = {"before", "described", "annotated", "promising", "told", "die", "empty", "unsaid"}
        assert set(connection.tools) == good
        assert connection.tools["described"].description == "Said"
        for name, parameters in (("empty", OBJECT), ("unsaid", OBJECT | {"$defs": {}})):
            assert connection.tools[name].parameters == parameters
        assert "process" in await call(connection, "before")
        assert "process" in await call(connection, "promising")
        said = "what it says of its arguments is no JSON schema of an object"
        named = {"no schema", "null", "number", "list", "text", "array", "strange"}
        assert {name for name, reason in connection.unfit.items() if reason == said} == named
        nameless = set(connection.unfit.values()) - {said}
        assert nameless == {"it has no name", "its name has a character that can't be stored"}
        assert len(connection.unfit) == len(named) + 6


@pytest.mark.parametrize("code", [-32000, -32001, -32603, -32602, -32099, 1, 404])
@pytest.mark.parametrize("message", ["no such table", "Connection closed", "Session terminated"])
async def test_an_error_of_a_tool_is_no_lost_connection(
    tmp_path: Path, code: int, message: str
) -> None:
    async with running_servers(crude_server("faulty"), logs=tmp_path) as servers:
        connection = connection_to(servers, "faulty")
        before = await call(connection, "before")
        with pytest.raises(ToolError) as told:
            await call(connection, "told", code=code, message=message)
        assert (told.value.message, told.value.name) == (message, "ToolServerError")
        assert await call(connection, "before") == before, "the same process"
        with pytest.raises(ToolError, match="was lost"):
            await call(connection, "die")
        await until(lambda: connection.problem)
        await until(lambda: connection.tools)
        assert await call(connection, "before") != before


# ---- over HTTP -------------------------------------------------------------------------------
@pytest.mark.slow
async def test_a_server_may_be_a_url_and_reconnects(tmp_path: Path) -> None:
    port = free_port()
    at = ToolServer(
        name="far", url=f"http://127.0.0.1:{port}/mcp", headers={"Authorization": SECRET}
    )
    async with running_servers(at, logs=tmp_path) as servers:
        connection = connection_to(servers, "far")
        assert connection.problem == "nothing answers at its address"
        async with serving(port) as seen:
            await until(lambda: connection.tools)
            assert await call(connection, "add", a=20, b=22) == {"result": 42}
            assert {headers.get(b"authorization") for headers in seen} == {SECRET.encode()}
        with pytest.raises(ToolError) as caught:
            await call(connection, "add", a=1, b=1)
        assert SECRET not in caught.value.message
        await until(lambda: connection.problem)


@asynccontextmanager
async def serving(port: int, served: Any = app) -> AsyncIterator[list[dict[bytes, bytes]]]:
    """Run the fake server in this process; yields the headers of the requests it receives."""
    seen: list[dict[bytes, bytes]] = []

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.append(dict(scope["headers"]))
        await served(scope, receive, send)

    config = uvicorn.Config(
        watched, port=port, log_level="warning", timeout_graceful_shutdown=1, ws="none"
    )
    web = uvicorn.Server(config)
    web.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    task = asyncio.create_task(web.serve())
    await until(lambda: web.started)
    try:
        yield seen
    finally:
        web.should_exit = True
        await task


async def crude_over_http(scope: Any, receive: Any, send: Any) -> None:
    """The crude server's answers as single documents over HTTP."""
    if scope["type"] != "http":
        return
    asked = json.loads((await receive()).get("body") or b"{}")
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": asked.get("id")}
    try:
        reply["result"] = answer(asked.get("method", ""), asked.get("params", {}), "faulty")
    except KeyError:
        reply["error"] = {"code": -32601, "message": "no such method"}
    except Told as told:
        reply["error"] = dict(zip(("code", "message"), told.args, strict=True))
    is_request = scope["method"] == "POST" and "id" in asked
    status = 200 if is_request else 202 if scope["method"] == "POST" else 405
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(reply).encode()})


async def test_faulty_tools_and_errors_over_http_are_the_same(tmp_path: Path) -> None:
    port = free_port()
    at = ToolServer(name="far", url=f"http://127.0.0.1:{port}/mcp")
    async with serving(port, crude_over_http), running_servers(at, logs=tmp_path) as servers:
        connection = connection_to(servers, "far")
        assert {"before", "told"} <= set(connection.tools) and "null" in connection.unfit
        before = await call(connection, "before")
        for message in ("no such table", "Connection closed"):
            with pytest.raises(ToolError) as told:
                await call(connection, "told", message=message)
            assert (told.value.message, told.value.name) == (message, "ToolServerError")
        assert await call(connection, "before") == before and not connection.problem


class TestNames:
    async def test_a_name_that_fits_stays_as_it_is(self) -> None:
        assert tool_name("notes", "read_file") == "notes__read_file"

    async def test_other_names_are_changed_to_fit_and_stay_different(self) -> None:
        names = [
            tool_name("s", tool) for tool in ("a b", "a.b", "a/b", "é", "", "x" * 70, "x" * 71)
        ]
        assert len(set(names)) == len(names)
        assert all(len(name) <= 64 and name.isascii() for name in names)
        assert all(part.isalnum() for name in names for part in name if part not in "_-")
