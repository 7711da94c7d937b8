"""Valid environment variables, and the error for a bad value before anything starts."""

from __future__ import annotations

import ast
import os
import re
import runpy
import secrets
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chatsite import environment, settings
from chatsite.errors import BadSetting
from chatsite.history import ENVIRONMENT_NAMES
from chatsite.providers.known.models_file import ModelsFile
from chatsite.providers.known.servers import SERVERS
from chatsite.startup import load_or_make_secret
from tests.settings import EXAMPLE

ROOT = EXAMPLE.parent


OWN_SETTINGS = {"DJANGO_SETTINGS_MODULE": "chatsite.settings"}
SHOW_KEY = "from django.conf import settings; print(settings.SECRET_KEY)"


def manage(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    base = {"VAR_DIR": str(folder), **OWN_SETTINGS}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**os.environ, **base, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


READERS = (
    "text",
    "choice",
    "dollars",
    "flag",
    "number",
    "folder",
    "networks",
    "address",
    "models_file",
    "cookie_name",
    "host_and_port",
    "bucket",
)


def read_names() -> set[str]:
    """Every name that the settings read, taken from their sources and the table of servers."""
    names = set(ENVIRONMENT_NAMES)
    for server in SERVERS.values():
        names |= {server.address, *([server.key] if server.key else [])}
    sources = [ROOT / "chatsite/settings.py", *(ROOT / "chatsite").glob("*/settings.py")]
    for node in (one for source in sources for one in ast.walk(ast.parse(source.read_text()))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in READERS
            and isinstance(node.args[0], ast.Constant)
        ):
            names.add(str(node.args[0].value))
    return names


class TestTheExample:
    def test_it_lists_exactly_what_is_read(self) -> None:
        listed = re.findall(r"^# ([A-Z][A-Z0-9_]*)=", EXAMPLE.read_text(), flags=re.MULTILINE)
        assert len(listed) == len(set(listed))
        assert set(listed) == read_names()

    def test_every_line_of_it_is_a_comment(self) -> None:
        for line in EXAMPLE.read_text().splitlines():
            assert not line or line.startswith("#"), line


BAD = [
    ("HISTORY_POLICY", "lastn", "lastN"),
    ("HISTORY_LENGTH", "2.5", "whole number"),
    ("CONVERSATION_SELECTION_TIMEOUT", "0", "a number above 0"),
    ("PORT", "http", "a whole number from 1 to 65535"),
    ("DEBUG", "yes", "true, false"),
    ("WARN_COST", "5 cents", "US dollars above 0: for a message, as 0.05"),
    ("MODEL_CHOICE", "on", "everyone, staff, off"),
    ("CACHE_CLEANUP", "RemoveOldest", "removeOldestMessages was probably meant"),
    ("ALLOWED_HOSTS", "*", "Name hosts"),
    ("TOOLS_FILE", "/none/tools.json", "can't be read: no such file"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "value", "allowed"), BAD)
def test_a_bad_value_stops_the_start_with_name_value_and_what_is_allowed(
    name: str, value: str, allowed: str, tmp_path: Path
) -> None:
    for command in ("serve", "check") if name == "HISTORY_POLICY" else ("check",):
        done = manage(tmp_path, command, **{name: value})
        assert done.returncode == 1
        errors = done.stderr
        assert errors.startswith("Chatsite can't start. ") and errors.count("\n") == 1, errors
        assert name in errors and f"'{value}'" in errors and allowed in errors, errors
    assert not (tmp_path / "chatsite.sqlite3").exists()


@pytest.mark.slow
def test_mail_that_is_set_halfway_stops_the_start_and_names_what_is_missing(
    tmp_path: Path,
) -> None:
    done = manage(tmp_path, "check", MAIL_IMAP="imaps://agent@mail.example.org", MAIL_AGENT="demo")
    assert done.returncode == 1
    missing = "MAIL_IMAP_PASSWORD, MAIL_SMTP, MAIL_ADDRESS, MAIL_AUTHSERV_ID, SITE_URL"
    assert f"missing: {missing}." in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_misspelt_history_variable_is_named(tmp_path: Path) -> None:
    done = manage(tmp_path, "check", CONVERSATION_LOOKBACK="3", HISTORY_POLICIES="all")
    assert done.returncode == 0
    for name in ("CONVERSATION_LOOKBACK", "HISTORY_POLICIES"):
        assert f"{name} is set without effect: there is no such history variable" in done.stderr


@pytest.mark.slow
def test_two_names_for_one_setting_must_agree(tmp_path: Path) -> None:
    done = manage(tmp_path, "check", HISTORY_LENGTH="2", NEXT_PUBLIC_DEFAULT_HISTORY_LENGTH="3")
    assert done.returncode == 1
    for part in ("HISTORY_LENGTH is '2'", "NEXT_PUBLIC_DEFAULT_HISTORY_LENGTH is '3'"):
        assert part in done.stderr


@pytest.mark.slow
def test_debug_is_allowed_only_on_this_machine(tmp_path: Path) -> None:
    done = manage(tmp_path, "check", DEBUG="true", ALLOWED_HOSTS="chat.example.org")
    assert done.returncode == 1 and "DEBUG=true" in done.stderr
    assert manage(tmp_path, "check", DEBUG="true", ALLOWED_HOSTS="localhost").returncode == 0


@pytest.mark.parametrize(
    ("hosts", "signup", "open_to_all"),
    [("", "", True), ("", "false", False), ("a.example", "", False), ("a.example", "true", True)],
)
def test_anybody_makes_an_account_on_this_machine_alone_unless_it_is_set(
    hosts: str, signup: str, open_to_all: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", hosts)
    monkeypatch.setenv("SIGNUP", signup)
    assert runpy.run_path(str(ROOT / "chatsite/accounts/settings.py"))["SIGNUP"] is open_to_all


@pytest.mark.slow
def test_the_deployment_check_is_clean_behind_tls(tmp_path: Path) -> None:
    done = manage(
        tmp_path,
        *("check", "--deploy", "--fail-level", "WARNING"),
        BEHIND_TLS="true",
        SECRET_KEY="k3y-" + "0123456789abcdefghijklmnopqrstuvwxyz" * 2,
        ALLOWED_HOSTS="chat.example.org",
        TRUSTED_PROXIES="127.0.0.1",
    )
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout
    assert not (tmp_path / "secret_key").exists()


@pytest.mark.slow
@pytest.mark.parametrize("module", ["chatsite.settings", "chatsite.startup", "chatsite.asgi"])
def test_importing_makes_no_folder_and_no_secret(module: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {module}"],
        cwd=ROOT,
        env={**os.environ, "VAR_DIR": str(tmp_path / "var"), "SECRET_KEY": ""} | OWN_SETTINGS,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_two_first_starts_at_once_share_a_folder_and_a_key_that_nobody_else_reads(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "var"
    starts = [
        subprocess.Popen(
            [sys.executable, "manage.py", "shell", "--no-imports", "--command", SHOW_KEY],
            cwd=ROOT,
            env={**os.environ, "VAR_DIR": str(folder), "SECRET_KEY": ""} | OWN_SETTINGS,
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    first, second = (start.communicate(timeout=120)[0].strip() for start in starts)
    assert first == second and len(first) >= 50
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "secret_key").stat().st_mode) == 0o600


@pytest.mark.slow
def test_no_output_of_settings_contains_a_key(tmp_path: Path) -> None:
    """The debug page, `diffsettings`, and a file whose own key came from the environment."""
    file = tmp_path / "models.json"
    file.write_text('{"servers": {"mine": {"base_url": "http://x/v1", "key": "MINE_KEY"}}}')
    program = """
import django; django.setup()
from django.conf import settings
from django.core.management import call_command
from django.views.debug import SafeExceptionReporterFilter
call_command("diffsettings", all=True)
print(SafeExceptionReporterFilter().get_safe_settings())
print(sorted(settings.MODEL_SERVERS_READY), settings.API_KEYS["MINE_KEY"] == "sk-canary-2")
"""
    keys = {"OPENAI_API_KEY": "sk-canary-1", "MINE_KEY": "sk-canary-2", "SECRET_KEY": "s-canary"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={
            **os.environ,
            **keys,
            "VAR_DIR": str(tmp_path / "var"),
            "DJANGO_SETTINGS_MODULE": "chatsite.settings",
            "MODELS_FILE": str(file),
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "['mine', 'openai'] True" in done.stdout
    assert "API_KEYS = Keys(OPENAI_API_KEY, MINE_KEY)" in done.stdout
    for key in ("sk-canary-1", "sk-canary-2"):
        assert key not in done.stdout + done.stderr


class TestReading:
    def test_a_models_file_is_read_whole_or_stops_the_start(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert settings.models_file("MODELS_FILE") == ModelsFile()
        monkeypatch.setenv("MODELS_FILE", str(tmp_path))
        with pytest.raises(BadSetting, match="MODELS_FILE=.* is not a text file"):
            settings.models_file("MODELS_FILE")
        file = tmp_path / "models.json"
        file.write_text('{"offered": ["openai:gpt-6-luna"]}')
        monkeypatch.setenv("MODELS_FILE", str(file))
        assert settings.models_file("MODELS_FILE").offered == ("openai:gpt-6-luna",)
        file.write_text('{"offered": 7}')
        with pytest.raises(BadSetting, match="MODELS_FILE=.*offered must be a list"):
            settings.models_file("MODELS_FILE")

    def test_every_server_can_be_given_another_address(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LLAMA_SERVER_BASE_URL", "http://10.0.0.5:8080/v1")
        found = settings.servers_of(ModelsFile())
        assert found["llama-server"].base_url == "http://10.0.0.5:8080/v1"
        assert found["openai"] is SERVERS["openai"]
        monkeypatch.setenv("GROQ_BASE_URL", "10.0.0.5")
        with pytest.raises(BadSetting, match="GROQ_BASE_URL .*http://"):
            settings.servers_of(ModelsFile())

    @pytest.mark.parametrize("value", ["0", "1001", "-1", "1.5", "1e2", "٣", "x", "9" * 5000])
    def test_a_number_out_of_range_is_bad(
        self, value: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MAX_ANSWERS_PER_OWNER", value)
        with pytest.raises(BadSetting, match="MAX_ANSWERS_PER_OWNER=.*from 1 to 1000"):
            environment.number("MAX_ANSWERS_PER_OWNER", 3, low=1, high=1000)

    @pytest.mark.parametrize(("value", "meant"), [(" 7 ", 7), ("1000", 1000), ("", 3), (" ", 3)])
    def test_a_blank_value_counts_as_not_set(
        self, value: str, meant: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MAX_ANSWERS_PER_OWNER", value)
        assert environment.number("MAX_ANSWERS_PER_OWNER", 3, low=1, high=1000) == meant

    @pytest.mark.parametrize(
        ("value", "meant"),
        [
            ("", (None, None)),
            ("0.05", (0.05, None)),
            ("0.05,2.00", (0.05, 2.0)),
            (" 1 , 20 ", (1.0, 20.0)),
            ("0.000001", (0.000001, None)),
        ],
    )
    def test_dollars_are_for_a_message_and_for_a_day(
        self, value: str, meant: tuple[float | None, float | None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("WARN_COST", value)
        assert settings.dollars("WARN_COST") == meant

    @pytest.mark.parametrize("value", ["0", "1,0", "-1", "1,2,3", ",2", "1,", "$1", "1e3", "٣"])
    def test_other_dollars_are_bad(self, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("WARN_COST", value)
        with pytest.raises(BadSetting, match="WARN_COST=.*0.05,2.00"):
            settings.dollars("WARN_COST")

    @pytest.mark.parametrize("value", ["True", "1", "on", "staff "])
    def test_a_choice_is_matched_exactly(self, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SIGNUP", value)
        with pytest.raises(BadSetting, match="SIGNUP=.*true, false"):
            environment.flag("SIGNUP")

    @pytest.mark.parametrize(
        "value",
        [
            *("localhost:11434", "ftp://host/v1", "http://", "http://[", "v1", "https:host"),
            *("https://user:canary@host/v1", "https://host/v1?key=canary", "htps://a:canary@host"),
        ],
    )
    def test_an_address_without_scheme_or_host_is_bad(
        self, value: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", value)
        with pytest.raises(BadSetting, match="OPENAI_BASE_URL .*http://") as error:
            settings.address("OPENAI_BASE_URL")
        assert "canary" not in str(error.value)

    @pytest.mark.parametrize("value", ["", "http://127.0.0.1:11434/v1", "https://api.example.org"])
    def test_an_address_is_taken_as_it_is(
        self, value: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", value)
        assert settings.address("OPENAI_BASE_URL") == value


class TestTheSecretKey:
    def test_the_key_is_made_once_and_only_its_owner_can_read_it(self, tmp_path: Path) -> None:
        path = tmp_path / "secret_key"
        made = load_or_make_secret(path, lambda: "first")
        assert load_or_make_secret(path, lambda: "second") == made == "first"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_two_starts_at_once_agree(self, tmp_path: Path) -> None:
        for round in range(20):
            path = tmp_path / f"secret {round}"
            with ThreadPoolExecutor(8) as pool:
                wanted = [
                    pool.submit(load_or_make_secret, path, lambda: secrets.token_urlsafe(50))
                    for _ in range(8)
                ]
                assert len({one.result() for one in wanted}) == 1

    @pytest.mark.slow
    def test_the_error_for_an_empty_key_file_says_what_to_do(self, tmp_path: Path) -> None:
        (tmp_path / "secret_key").touch()
        with pytest.raises(BadSetting, match="is empty. Delete it"):
            load_or_make_secret(tmp_path / "secret_key", lambda: "x")
