"""Started as Django projects usually are: it serves, or says in one sentence how it is started."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.person import Person
from tests.running import ROOT, free_port

USE = "Chatsite can't run as it was started here. Use: python manage.py serve"
PATIENCE = 30.0
ASGI = "chatsite.asgi:application"


class Started:
    """A process that was started by somebody else's command."""

    def __init__(self, folder: Path, port: int, process: subprocess.Popen[bytes]) -> None:
        self.folder = folder
        self.url = f"http://127.0.0.1:{port}"
        self.process = process

    @property
    def log(self) -> str:
        return (self.folder / "out").read_text()

    async def answer(self, path: str) -> tuple[int, str]:
        """The answer to a request, as soon as anything listens."""
        async with asyncio.timeout(PATIENCE), aiohttp.ClientSession() as http:
            while True:
                assert self.process.poll() is None, self.log
                try:
                    async with http.get(self.url + path) as answer:
                        return answer.status, await answer.text()
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.05)

    async def ended(self) -> int:
        """The exit code, once it has ended by itself."""
        async with asyncio.timeout(PATIENCE):
            return await asyncio.to_thread(self.process.wait)


Command = Callable[[int], list[str]]


@contextmanager
def started(folder: Path, command: Command, **environment: str) -> Iterator[Started]:
    """Run `python -m ...`, or `manage.py ...`, in a folder without anything of an earlier start."""
    folder.mkdir()
    port = free_port()
    own = {
        "VAR_DIR": str(folder),
        "CHAT_ENGINE": "off",
        "LOCAL_SERVERS": "off",
        "DJANGO_SETTINGS_MODULE": "chatsite.settings",  # not that of these tests
    }
    with (folder / "out").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, *command(port)],
            cwd=ROOT,
            env={**os.environ, **own, **environment},
            stdout=out,
            stderr=out,
        )
    try:
        yield Started(folder, port, process)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(PATIENCE)


def uvicorn(*options: str, application: str = ASGI) -> Command:
    return lambda port: ["-m", "uvicorn", application, "--port", str(port), *options]


def daphne(port: int) -> list[str]:
    return ["-m", "daphne", "-p", str(port), ASGI]


SERVING: dict[str, Command] = {
    "runserver with a port": lambda port: ["manage.py", "runserver", str(port)],
    "uvicorn": uvicorn(),
}
ALSO_SERVING: dict[str, Command] = {
    "runserver with an address": lambda port: ["manage.py", "runserver", f"0.0.0.0:{port}"],
    "runserver without reloading": lambda port: ["manage.py", "runserver", "--noreload", str(port)],
}
NOT_SERVING: dict[str, Command] = {
    "daphne": daphne,
    "uvicorn --lifespan off": uvicorn("--lifespan", "off"),
}


@pytest.mark.parametrize(
    "command",
    [
        *SERVING.values(),
        *(pytest.param(one, marks=pytest.mark.thorough) for one in ALSO_SERVING.values()),
    ],
    ids=[*SERVING, *ALSO_SERVING],
)
async def test_it_serves_from_an_empty_folder_with_styles_and_sockets(
    command: Command, tmp_path: Path
) -> None:
    with started(tmp_path / "var", command) as server:
        status, page = await server.answer("/chat")
        assert status == 200, page
        (style,) = re.findall(r'href="(/static/built/main-\w+\.css)"', page)
        assert (await server.answer(style))[0] == 200
        async with Person(server.url) as ada:
            talk = await ada.page()
            assert (await talk.say("Hello"))["problem"] is None
            await talk.close()
    assert "Traceback" not in server.log, server.log


async def test_runserver_serves_where_the_environment_says_and_says_what_it_is(
    tmp_path: Path,
) -> None:
    port = str(free_port())
    with started(tmp_path / "var", lambda _: ["manage.py", "runserver"], PORT=port) as server:
        server.url = f"http://127.0.0.1:{port}"
        assert (await server.answer("/healthz"))[0] == 200
    (line,) = [line for line in server.log.splitlines() if "runserver" in line]
    assert "`manage.py serve`" in line


@pytest.mark.parametrize(
    "address",
    [
        *("nowhere", "65536"),
        *(
            pytest.param(address, marks=pytest.mark.thorough)
            for address in ("0", "127.0.0.1:", ":8001", "127.0.0.1:80:80", "8001x")
        ),
    ],
)
def test_runserver_says_which_addresses_it_takes(address: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "runserver", address],
        cwd=ROOT,
        env={
            **os.environ,
            "VAR_DIR": str(tmp_path / "var"),
            "DJANGO_SETTINGS_MODULE": "chatsite.settings",
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert f"{address!r} is not allowed." in done.stderr and "0.0.0.0:8001" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", NOT_SERVING.values(), ids=NOT_SERVING)
async def test_a_server_without_a_lifespan_answers_all_with_how_to_start_it(
    command: Command, tmp_path: Path
) -> None:
    with started(tmp_path / "var", command) as server:
        for path in ("/chat", "/", "/static/chat/main.css", "/healthz", "/nowhere"):
            assert await server.answer(path) == (503, USE), path
        async with aiohttp.ClientSession() as http:
            for path in ("/ws", "/nowhere"):
                socket = await http.ws_connect(server.url + path, headers={"Origin": server.url})
                assert (await socket.receive()).type == aiohttp.WSMsgType.CLOSE
                assert socket.close_code == 4503
            async with http.post(f"{server.url}/session", data=b"x" * 100_000) as answer:
                assert (answer.status, await answer.text()) == (503, USE)
    assert "Traceback" not in server.log, server.log
    assert server.log.count(USE) == 1, server.log
    assert [file.name for file in server.folder.iterdir()] == ["out"]


PLAIN_WSGI = """
import sys
from importlib import import_module
from wsgiref.simple_server import make_server
application = import_module(sys.argv[1]).application
make_server("127.0.0.1", int(sys.argv[2]), application).serve_forever()
"""


@pytest.mark.parametrize("module", ["chatsite.wsgi", "chatsite.asgi"])
async def test_a_server_that_speaks_wsgi_answers_with_how_to_start_it(
    module: str, tmp_path: Path
) -> None:
    """As gunicorn with a worker of its own calls it."""
    program = tmp_path / "plain.py"
    program.write_text(PLAIN_WSGI)
    command: Command = lambda port: [str(program), module, str(port)]  # noqa: E731
    with started(tmp_path / "var", command, PYTHONPATH=str(ROOT)) as server:
        for path in ("/chat", "/static/chat/main.css", "/nowhere"):
            assert await server.answer(path) == (503, USE), path
    assert "Traceback" not in server.log, server.log
    assert server.log.count(USE) == 1, server.log


async def test_what_is_named_wsgi_ends_a_server_for_asgi_with_the_sentence(tmp_path: Path) -> None:
    command = uvicorn(application="chatsite.wsgi:application")
    with started(tmp_path / "var", command) as server:
        assert await server.ended() == 3
    assert USE in server.log and "Traceback" not in server.log


async def test_several_workers_in_one_folder_end_with_a_sentence(tmp_path: Path) -> None:
    with started(tmp_path / "var", uvicorn("--workers", "2")) as server:
        await server.ended()
    assert server.log.count(f"Another server already uses {server.folder}.") == 1, server.log
    assert "Traceback" not in server.log, server.log


FOREIGN = "names settings that aren't Chatsite's"
BAD: dict[str, tuple[dict[str, str], str]] = {
    "settings that aren't there": ({"DJANGO_SETTINGS_MODULE": "mysite.settings"}, FOREIGN),
    "settings of Django": ({"DJANGO_SETTINGS_MODULE": "django.conf.global_settings"}, FOREIGN),
    "settings beside them": ({"DJANGO_SETTINGS_MODULE": "chatsite.nowhere"}, FOREIGN),
    "settings without a name": ({"DJANGO_SETTINGS_MODULE": ""}, FOREIGN),
    "a file": ({"VAR_DIR": str(ROOT / "manage.py")}, "manage.py' can't be used"),
    "below a file": ({"VAR_DIR": str(ROOT / "manage.py/var")}, "Not a directory"),
    "where nothing is written": ({"VAR_DIR": "/proc/chatsite"}, "VAR_DIR='/proc/chatsite'"),
    "nobody's home": ({"VAR_DIR": "~nobody.here/var"}, "is not a path that can be used"),
    "a name that is too long": ({"AGENTS_DIR": "x" * 300}, "is not a path that can be used"),
}


@pytest.mark.parametrize(("environment", "sentence"), BAD.values(), ids=BAD)
@pytest.mark.parametrize(
    "command",
    [uvicorn(), pytest.param(lambda _: ["manage.py", "serve"], marks=pytest.mark.thorough)],
)
async def test_what_a_start_lacks_is_a_sentence_under_any_server(
    command: Command, environment: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    with started(tmp_path / "var", command, **environment) as server:
        assert await server.ended() in (1, 3)
    assert sentence in server.log and "Traceback" not in server.log, server.log


@pytest.mark.parametrize(
    "host",
    [
        "a..b",
        *(
            pytest.param(host, marks=pytest.mark.thorough)
            for host in ("a" * 300, "[::1]", "http://127.0.0.1", "no host")
        ),
    ],
)
async def test_a_host_that_is_no_address_is_refused_in_words(host: str, tmp_path: Path) -> None:
    command: Command = lambda _: ["manage.py", "serve"]  # noqa: E731
    with started(tmp_path / "var", command, HOST=host) as server:
        assert await server.ended() == 1
    assert f"HOST={host!r} is not allowed." in server.log and "Traceback" not in server.log


async def test_it_serves_also_where_the_environment_asks_for_several_workers(
    tmp_path: Path,
) -> None:
    """As hosts set it that run one program for each core."""
    command: Command = lambda port: ["manage.py", "runserver", str(port)]  # noqa: E731
    with started(tmp_path / "var", command, WEB_CONCURRENCY="4") as server:
        assert (await server.answer("/healthz"))[0] == 200
    assert "Another server" not in server.log, server.log


RAISING = """
import asyncio, sys
from importlib import import_module
application = import_module(sys.argv[1]).application
async def receive(): return {"type": "lifespan.startup"}
async def send(event): raise RuntimeError(event["message"])
asyncio.run(application({"type": "lifespan", "state": {}, "asgi": {}}, receive, send))
"""


@pytest.mark.parametrize("module", ["chatsite.wsgi", "chatsite.asgi"])
async def test_a_server_that_raises_what_it_is_told_ends_without_a_traceback(
    module: str, tmp_path: Path
) -> None:
    """As hypercorn does."""
    program = tmp_path / "raising.py"
    program.write_text(RAISING)
    more = {"PYTHONPATH": str(ROOT), "VAR_DIR": "/proc/chatsite"}
    with started(tmp_path / "var", lambda _: [str(program), module], **more) as server:
        assert await server.ended() == 3
    (line,) = server.log.splitlines()
    assert line == USE or line.startswith("VAR_DIR='/proc/chatsite' can't be used")


@pytest.mark.parametrize(
    "program", ["django", pytest.param("django-admin", marks=pytest.mark.thorough)]
)
def test_djangos_own_command_finds_its_folder_and_its_key(program: str, tmp_path: Path) -> None:
    django = [sys.executable, "-m", "django"]
    command = django if program == "django" else [str(Path(sys.executable).parent / program)]
    environment = {
        **os.environ,
        "VAR_DIR": str(tmp_path / "new" / "var"),
        "DJANGO_SETTINGS_MODULE": "chatsite.settings",
        "DJANGO_SUPERUSER_PASSWORD": "a long one 91",
        "PYTHONPATH": str(ROOT),
    }
    account = ["--noinput", "--username", "ada", "--email", "ada@example.org"]
    sign = "from django.core import signing; print(signing.dumps('a'))"
    for asked in (["migrate", "-v0"], ["createsuperuser", *account], ["shell", "-c", sign]):
        done = subprocess.run(
            [*command, *asked], env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "new/var/chatsite.sqlite3").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("asked", [["clearsessions"], ["purge"], ["changepassword", "ada"]])
def test_a_command_before_the_first_start_says_what_makes_the_database(
    asked: list[str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", *asked],
        cwd=ROOT,
        env={**os.environ, "VAR_DIR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "chatsite.settings"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "no such table" in done.stderr and "`manage.py migrate`" in done.stderr


def test_an_interpreter_without_the_packages_is_told_of_the_one_that_has_them() -> None:
    done = subprocess.run(
        [sys.executable, "-S", "manage.py", "serve"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "has no package django." in done.stderr and ".venv/bin/python" in done.stderr


async def test_a_bad_setting_is_a_sentence_under_any_server(tmp_path: Path) -> None:
    with started(tmp_path / "var", uvicorn(), HISTORY_POLICY="sometimes") as server:
        assert await server.ended() == 3
    assert server.log.startswith("Chatsite can't start. HISTORY_POLICY"), server.log
    assert "Traceback" not in server.log


async def test_a_socket_that_is_not_there_is_refused_without_a_traceback(tmp_path: Path) -> None:
    with started(tmp_path / "var", uvicorn()) as server:
        await server.answer("/healthz")
        async with aiohttp.ClientSession() as http:
            for path in ("/nowhere", "/ws/chat", "/wss", "/", "/static/ws", "/ws%2f", "/%00"):
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await http.ws_connect(server.url + path, headers={"Origin": server.url})
                assert refused.value.status in (403, 404), path
        assert (await server.answer("/chat"))[0] == 200
    assert "Traceback" not in server.log, server.log
