"""Strategies in a real worker process: what they see, what they choose, and how they fail."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
import uuid
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from chatsite.agents.strategy import worker
from chatsite.agents.strategy.file import StrategyFile
from chatsite.agents.strategy.protocol import StrategyFailure
from chatsite.agents.strategy.worker import StrategyResult, StrategyWorker
from chatsite.messages import Message
from chatsite.process_limits import end_children
from tests.agents.strategy.sample_conversation import (
    SAMPLE_INPUT,
    names_and_items,
    slots,
    write,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def strategies() -> AsyncIterator[StrategyWorker]:
    worker = StrategyWorker()
    yield worker
    await worker.stop()


@pytest_asyncio.fixture(loop_scope="module")
async def hasty() -> AsyncIterator[StrategyWorker]:
    """A worker whose strategies may take half a second."""
    worker = StrategyWorker(seconds=0.5)
    yield worker
    await worker.stop()


def build_source(*lines: str) -> str:
    return "\n".join(["def build(ctx):", *(f"    {line}" for line in lines)])


def adding_source(expression: str) -> str:
    return build_source(f"ctx.slots.add('s', {expression})")


async def failure_of(strategies: StrategyWorker, file: StrategyFile) -> StrategyFailure:
    problem = await strategies.run(file, SAMPLE_INPUT)
    assert isinstance(problem, StrategyFailure)
    return problem


@pytest.mark.parametrize(
    ("expression", "items"),
    [
        ("ctx.history.last_user()", [12]),
        ("ctx.history.last_assistant()", [9]),
        ("ctx.history.range(from_end=4, to_end=2)", [6, 9]),
        ("ctx.history.recent(2)", [12, 15]),
        ("ctx.history.by_tokens(95)", [12, 15]),
        ("ctx.history.by_tokens(ctx.budget)", [12, 15]),
        (
            "ctx.history.recent_text(4)",
            [
                (
                    "user",
                    "User: Check this report\nFile: report.pdf\n\nAssistant: It looks correct.\n\n"
                    "User: yes\n\nTool: 42",
                )
            ],
        ),
        ("[m for m in ctx.history.recent(9) if m.role == 'user']", [6, 12]),
        ("filter(lambda m: m.attachments, ctx.history.recent(9))", [6]),
        ("ctx.history.recent(9)[1].attachments[0].mime_type", [("user", "text/pdf")]),
        ("str(ctx.budget // 3) + ' of ' + str(ctx.budget.limit)", [("user", "33 of 400")]),
        ("str(ctx.budget.estimate('Hello there'))", [("user", "3")]),
        ("ctx.agent.slug + ctx.agent.name + ctx.agent.personality", [("user", "adaAdaYou help.")]),
        ("ctx.input + '!'", [("user", "yes!")]),
    ],
)
async def test_every_helper_works(
    strategies: StrategyWorker, tmp_path: Path, expression: str, items: list[object]
) -> None:
    built = await strategies.run(write(tmp_path, adding_source(expression)), SAMPLE_INPUT)
    assert names_and_items(built) == [("s", items)]


async def test_the_example_of_the_documentation_runs(
    strategies: StrategyWorker, tmp_path: Path
) -> None:
    documentation = (Path(__file__).parents[3] / "docs" / "strategies.md").read_text()
    source = documentation.split("```python\n")[1].split("```")[0]
    note = (4, Message.user("Keep: tea", id="note"))
    given = replace(SAMPLE_INPUT, history=(note, *SAMPLE_INPUT.history[2:]))
    assert names_and_items(await strategies.run(write(tmp_path, source), given)) == [
        ("notes", [4]),
        ("newest", [15]),
    ]


async def test_the_current_message_is_not_in_the_history_and_adding_it_adds_nothing(
    strategies: StrategyWorker, tmp_path: Path
) -> None:
    file = write(tmp_path, build_source("ctx.slots.add('input', ctx.input, priority=9)"))
    assert slots(await strategies.run(file, SAMPLE_INPUT)) == ()


async def test_an_earlier_message_with_the_same_words_can_be_added(
    strategies: StrategyWorker, tmp_path: Path
) -> None:
    file = write(tmp_path, adding_source("ctx.history.last_user()"))
    assert SAMPLE_INPUT.history[3][1].content == SAMPLE_INPUT.input
    assert names_and_items(await strategies.run(file, SAMPLE_INPUT)) == [("s", [12])]


async def test_a_changed_message_becomes_a_text_and_a_copy_of_it_does_not(
    strategies: StrategyWorker, tmp_path: Path
) -> None:
    source = "import copy, dataclasses\n" + build_source(
        "report, answer = ctx.history.recent(4)[:2]",
        "ctx.slots.add('same', [copy.deepcopy(report), dataclasses.replace(answer)])",
        "ctx.slots.add('cut', dataclasses.replace(report, content='Check'))",
        "ctx.slots.add('tool', dataclasses.replace(ctx.history.recent(1)[0], content='4'))",
        "ctx.slots.add('role', [answer, report], role='assistant')",
    )
    assert names_and_items(await strategies.run(write(tmp_path, source), SAMPLE_INPUT)) == [
        ("same", [6, 9]),
        ("cut", [("user", "Check\nFile: report.pdf")]),
        ("tool", [("assistant", "4")]),
        ("role", [9, ("assistant", "Check this report\nFile: report.pdf")]),
    ]


async def test_slots_keep_names_priorities_and_order(
    strategies: StrategyWorker, tmp_path: Path
) -> None:
    source = build_source(
        "ctx.slots.add('system', 'Rules.', priority=3)",
        "ctx.slots.add('twice', 'one')",
        "ctx.slots.add('twice', 'two', -1.5, 'assistant')",
        "for nothing in (None, [], '', ' \\n', ()):",
        "    ctx.slots.add('nothing', nothing)",
        "ctx.slots.add('half', '\\ud800 and \\0')",
    )
    found = slots(await strategies.run(write(tmp_path, source), SAMPLE_INPUT))
    assert [(slot.name, slot.priority) for slot in found] == [
        ("system", 3),
        ("twice", 0),
        ("twice", -1.5),
        ("half", 0),
    ]
    texts = [item for slot in found for item in slot.items if not isinstance(item, int)]
    assert [(text.id, text.role, text.content) for text in texts] == [
        ("strategy-0", "system", "Rules."),
        ("strategy-1", "user", "one"),
        ("strategy-2", "assistant", "two"),
        ("strategy-3", "user", "\ufffd and \ufffd"),
    ]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("('x', 3)", 'slot "x": content must be a text, a message, a list of messages or None, '),
        ("('x', ['a'])", "a list of messages or None; item 0 of it is a str"),
        ("('x', {'role': 'user'})", "item 0 of it is a str"),
        ("('x', 'a', 'high')", 'slot "x": priority must be a number, not a str'),
        ("('x', 'a', True)", 'slot "x": priority must be a number, not a bool'),
        ("('x', 'a', float('nan'))", 'slot "x": priority must be a finite number'),
        ("('x', 'a', role='tool')", 'slot "x": role must be one of system, user, assistant, or'),
        ("(' ', 'a')", "a slot's name must have 1 to 80 characters"),
        ("(None, 'a')", "a slot's name must be text, not None"),
    ],
)
async def test_a_wrong_slot_is_named_with_what_is_allowed_and_the_line(
    strategies: StrategyWorker, tmp_path: Path, call: str, words: str
) -> None:
    problem = await failure_of(
        strategies, write(tmp_path, build_source("", f"ctx.slots.add{call}"))
    )
    assert words in problem.sentence("ada/strategy.py")
    assert problem.sentence("ada/strategy.py").startswith("ada/strategy.py, line 3: ")


async def test_an_error_says_file_line_and_kind_but_no_words_of_a_message(
    strategies: StrategyWorker, tmp_path: Path
) -> None:
    source = build_source("for m in ctx.history.recent(9):", "    raise ValueError(m.content)")
    problem = await failure_of(strategies, write(tmp_path, source))
    assert problem.sentence("ada/strategy.py") == "ada/strategy.py, line 3: ValueError"
    assert "Be kind." in problem.trace  # for the administrator's own screen


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("import sys\n" + build_source("sys.exit(3)"), "s.py, line 3: SystemExit"),
        (build_source("return ctx.history.recent(3)"), "it returned a list"),
        ("import none_such\n" + build_source("pass"), "s.py, line 1: ModuleNotFoundError"),
        ("if False:\n    def build(ctx): pass", "s.py: it has no function build(ctx)"),
        (build_source("build(ctx)"), "s.py, line 2: RecursionError"),
        (build_source("return bytearray(2**40)"), "s.py, line 2: MemoryError"),
        (build_source("print('x' * 100_000)", "input()"), "s.py, line 3: EOFError"),
        ("def build(ctx:", "s.py, line 1: it isn't valid Python"),
        ("", "s.py: it has no function build(ctx)"),
    ],
)
async def test_other_failures_are_described(
    strategies: StrategyWorker, tmp_path: Path, source: str, sentence: str
) -> None:
    assert sentence in (await failure_of(strategies, write(tmp_path, source))).sentence("s.py")


async def test_output_printed_by_a_strategy_is_ignored(
    strategies: StrategyWorker, tmp_path: Path
) -> None:
    source = "import os, sys\n" + build_source(
        "print('{}')",
        "os.write(1, b'{}\\n')",
        "print('!', file=sys.stderr)",
        "os.system('echo {}')",
    )
    assert names_and_items(await strategies.run(write(tmp_path, source), SAMPLE_INPUT)) == []


async def test_a_strategy_cannot_see_the_servers_environment(
    hasty: StrategyWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")  # its worker isn't started yet
    source = "import os\n" + adding_source("' '.join(sorted(os.environ))")
    ((_, [(_, names)]),) = names_and_items(await hasty.run(write(tmp_path, source), SAMPLE_INPUT))
    assert set(names.split()) <= {"PYTHONHASHSEED", "LC_CTYPE"}


async def test_a_changed_file_is_run_at_once_and_no_state_survives_a_run(
    strategies: StrategyWorker, tmp_path: Path
) -> None:
    file = write(
        tmp_path, "kept = []\n" + build_source("kept.append('x')", "ctx.slots.add('s', *kept)")
    )
    times = os.stat(file.path)
    for _ in range(2):
        assert names_and_items(await strategies.run(file, SAMPLE_INPUT)) == [("s", [("user", "x")])]
    write(tmp_path, "kept = []\n" + build_source("kept.append('y')", "ctx.slots.add('s', *kept)"))
    os.utime(file.path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert names_and_items(await strategies.run(file, SAMPLE_INPUT)) == [("s", [("user", "y")])]
    os.remove(file.path)
    assert (await failure_of(strategies, file)).sentence("s.py") == "s.py: the file can't be read"


@pytest.mark.slow
@pytest.mark.parametrize(
    "endless",
    ["while True: pass", "import time; time.sleep(99)", "import re; re.match('(a+)+b', 'a' * 40)"],
)
async def test_a_strategy_that_takes_too_long_is_ended_and_the_next_one_runs(
    hasty: StrategyWorker, tmp_path: Path, endless: str
) -> None:
    problem = await failure_of(hasty, write(tmp_path, build_source(endless)))
    assert problem.reason == "it took longer than 0.5 seconds and was ended"
    assert names_and_items(
        await hasty.run(write(tmp_path, adding_source("'a'")), SAMPLE_INPUT)
    ) == [("s", [("user", "a")])]


async def test_a_crash_is_reported_and_the_next_strategy_runs(
    strategies: StrategyWorker, tmp_path: Path
) -> None:
    file = write(tmp_path, "import os\n" + build_source("os._exit(3)"))
    assert (await failure_of(strategies, file)).reason == "its worker process ended while it ran"
    assert (
        names_and_items(await strategies.run(write(tmp_path, adding_source("None")), SAMPLE_INPUT))
        == []
    )


async def test_an_answer_that_is_too_large_is_refused(
    strategies: StrategyWorker, tmp_path: Path
) -> None:
    file = write(tmp_path, adding_source("'x' * 9_000_000"))
    assert (await failure_of(strategies, file)).reason == "it gave an answer that can't be used"
    assert (
        names_and_items(await strategies.run(write(tmp_path, adding_source("None")), SAMPLE_INPUT))
        == []
    )


async def test_a_worker_that_died_while_it_waited_is_replaced(
    strategies: StrategyWorker, tmp_path: Path
) -> None:
    source = "import os\n" + adding_source("str(os.getpid())")
    file = write(tmp_path, source)
    ((_, [(_, first)]),) = names_and_items(await strategies.run(file, SAMPLE_INPUT))
    os.kill(int(first), signal.SIGKILL)
    process = await strategies.start()
    await process.wait()
    ((_, [(_, second)]),) = names_and_items(await strategies.run(file, SAMPLE_INPUT))
    assert first != second
    ((_, [(_, third)]),) = names_and_items(await strategies.run(file, SAMPLE_INPUT))
    assert second == third


async def test_stopping_a_turn_leaves_the_worker_in_step(
    strategies: StrategyWorker, tmp_path: Path
) -> None:
    slow = write(
        tmp_path, "import time\n" + build_source("time.sleep(0.05)", "ctx.slots.add('s', 'slow')")
    )
    turn = asyncio.create_task(strategies.run(slow, SAMPLE_INPUT))
    await asyncio.sleep(0)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    other = replace(SAMPLE_INPUT, input="other")
    runs = [strategies.run(slow, given) for given in (SAMPLE_INPUT, other, SAMPLE_INPUT)]
    assert all(isinstance(built, StrategyResult) for built in await asyncio.gather(*runs))
    quick = write(tmp_path, adding_source("'quick'"))
    assert names_and_items(await strategies.run(quick, SAMPLE_INPUT)) == [
        ("s", [("user", "quick")])
    ]


@pytest.mark.parametrize(
    ("begun", "steps", "words"),
    [
        (False, 0, "the server is ending"),
        (False, 3, "its worker process ended while it ran"),
        (True, 3, "its worker process ended while it ran"),
    ],
)
async def test_the_end_of_the_server_ends_the_worker_and_its_strategy(
    tmp_path: Path, begun: bool, steps: int, words: str
) -> None:
    strategies = StrategyWorker(seconds=60)
    file = write(tmp_path, build_source("while True: pass"))
    run = asyncio.create_task(strategies.run(file, SAMPLE_INPUT))
    if begun:
        await strategies.start()
    for _ in range(steps):
        await asyncio.sleep(0)
    await strategies.stop()
    problem = await run
    assert isinstance(problem, StrategyFailure)
    assert problem.reason == words
    assert [task.get_name() for task in asyncio.all_tasks() if "strategy" in task.get_name()] == []


@pytest.mark.parametrize("state", ["waiting", "busy"])
async def test_the_worker_ends_when_its_parent_is_killed(tmp_path: Path, state: str) -> None:
    """The parent prints the worker's process id, starts an endless strategy, and is killed."""
    file = write(tmp_path, build_source("while True: pass"))
    program = f"""
import asyncio
from chatsite.agents.strategy.file import StrategyFile
from chatsite.agents.strategy.worker import StrategyWorker
from tests.agents.strategy.sample_conversation import SAMPLE_INPUT
async def main():
    strategies = StrategyWorker(seconds=60)
    process = await strategies.start()
    print(process.pid, flush=True)
    if {state == "busy"}:
        await strategies.run(StrategyFile(path={file.path!r}, shown=""), SAMPLE_INPUT)
    await asyncio.Event().wait()
asyncio.run(main())
"""
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=PIPE)
    assert parent.stdout is not None
    worker = int(await parent.stdout.readline())
    parent.kill()
    await parent.wait()
    deadline = time.monotonic() + 10
    await asyncio.to_thread(wait_for_the_end, worker, deadline)


def wait_for_the_end(pid: int, deadline: float) -> None:
    while is_running(pid):
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """False for a zombie too (state Z): it has ended, but its parent hasn't waited for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except FileNotFoundError:
        return False


FORKING = """
import os, subprocess, sys, time

def build(ctx):
    name = {name!r}
    long = [sys.executable, "-c", "import time; time.sleep(600)", name]
    subprocess.Popen(long, start_new_session=True)
    if os.fork() == 0:
        os.setsid()
        subprocess.Popen(long, start_new_session=True)
        os._exit(0)
    {then}
"""


@pytest.mark.parametrize("then", ["pass", "raise KeyError", "time.sleep(600)"])
async def test_what_a_strategy_begins_ends_with_it_also_in_a_session_of_its_own(
    hasty: StrategyWorker, tmp_path: Path, then: str
) -> None:
    name = f"begun-{uuid.uuid4()}"
    await hasty.run(write(tmp_path, FORKING.format(name=name, then=then)), SAMPLE_INPUT)

    def left() -> list[int]:
        lines = ((one.pid, one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"]))
        return [pid for pid, line in lines if name in line]

    async with asyncio.timeout(20):
        while left():  # noqa: ASYNC110 - processes tell nobody
            await asyncio.sleep(0.05)


LEAVING = """
import ctypes, os, signal, subprocess, sys, threading, time
NAME = {name!r}

def child():
    long = [sys.executable, "-c", "import time; time.sleep(600)", NAME]
    for _ in range(3):
        subprocess.Popen(long, start_new_session=True)

def spin():
    while True:
        pass

def build(ctx):
    {then}
"""


@pytest.mark.parametrize(
    "then",
    [
        "child(); os._exit(0)",
        "child(); os.kill(os.getpid(), signal.SIGKILL)",
        "child(); os.killpg(0, signal.SIGKILL)",
        "child(); ctypes.string_at(0)",
        "child(); os.kill(os.getpid(), signal.SIGSTOP)",
        "threading.Timer(0.3, child).start()",
        "[threading.Thread(target=spin, args=(), name=NAME, daemon=True).start() for _ in '123']",
    ],
)
async def test_nothing_is_left_of_a_worker_that_crashes_or_of_a_thread(
    hasty: StrategyWorker, tmp_path: Path, then: str
) -> None:
    name = f"begun-{uuid.uuid4()}"
    process = psutil.Process((await hasty.start()).pid)
    await hasty.run(write(tmp_path, LEAVING.format(name=name, then=then)), SAMPLE_INPUT)
    await asyncio.sleep(0.5)
    lines = (one.info["cmdline"] or () for one in psutil.process_iter(["cmdline"]))
    assert not [line for line in lines if name in line]
    assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    assert names_and_items(
        await hasty.run(write(tmp_path, adding_source("'next'")), SAMPLE_INPUT)
    ) == [("s", [("user", "next")])]


async def test_ending_hundreds_of_processes_leaves_the_loop_free(
    hasty: StrategyWorker, tmp_path: Path
) -> None:
    forks = "import os, time\n" + build_source(
        "for _ in range(300):", "    if os.fork() == 0: time.sleep(600)", "time.sleep(600)"
    )
    on_loop: list[bool] = []

    def ended(of: int) -> None:
        on_loop.append(threading.current_thread() is threading.main_thread())
        end_children(of)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{worker.__name__}.end_children", ended)
        assert (await failure_of(hasty, write(tmp_path, forks))).ended
    assert on_loop == [False]
