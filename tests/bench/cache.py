"""The time saved by the engine's KV cache, compared with reading the same prompt again."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from chatsite.errors import ProviderError
from chatsite.providers.embedded.client import EngineClient
from chatsite.providers.embedded.engine import SLOTS, WINDOW
from tests.bench import cache_engine, cache_page, cache_users, cache_words
from tests.bench.cache_engine import Times
from tests.bench.cache_page import FirstPiece
from tests.bench.cache_users import TOKENS, Memory, Throughput
from tests.bench.cache_words import SameAnswers
from tests.bench.figures import Options, Row, ratios, spread, table
from tests.short_talks import TALKS
from tests.token_ids import Completion

TURNS = (12, 40)
# Targets: how many times faster than reading again, or how many times the tokens.
KEPT, CUT, RESTORED, AT_ONCE = 15, 10, 200, 2


async def run(options: Options) -> list[Row]:
    times = options.times(9, 1)
    rows = await _at_the_engine(times)
    return rows + await _at_the_page(times) if rows else []


# ---- at the engine's request -------------------------------------------------------------------
async def _at_the_engine(times: int) -> list[Row]:
    async with cache_engine.folder() as folder:
        try:
            async with cache_engine.engine_in(folder) as place:
                fresh = Memory.of(place.running.pid)
                found = await _first_tokens(place.client, times)
                throughput = await cache_users.four_at_once(place.client, times=times)
                _print_users(throughput, times)
                full = Memory.of(place.running.pid)
                _print_memory(fresh, full, found[TURNS[-1]])
                talks = len(TALKS) if times > 1 else 4
                _print_words(await cache_words.compare_answers(place.client, talks=talks))
            async with cache_engine.engine_in(folder) as place:
                for turn in TURNS:
                    await cache_engine.after_a_restart(place, found[turn], times=times)
        except ProviderError as error:
            print(f"Skipped: {error.message}")
            return []
    _print_saving(found)
    return [
        *(row for turn in TURNS for row in _rows_of_engine(turn, found[turn])),
        _row_of_users(throughput),
        _row_of_memory(fresh, full),
    ]


async def _first_tokens(client: EngineClient, times: int) -> dict[int, Times]:
    found = {}
    for turn in TURNS:
        prompts = await cache_engine.prompts(client, turn)
        found[turn] = await cache_engine.first_tokens(client, prompts, times=times)
    _print_first_tokens(found, times)
    return found


def _print_first_tokens(found: dict[int, Times], times: int) -> None:
    print(
        "At the engine's request: the question of a turn, asked by token ids, and the time to the\n"
        "first token. Anew: into an empty slot. Kept: behind what the turns before left there.\n"
        "Cut: where four messages more lay in the middle, so that the rest is shifted. Trimmed:\n"
        "the same, but shifted ahead, in a request of its own.\n"
    )
    head = ("turn", "prompt", "repetitions", "prompt tokens", "of them reused", "first token, ms")
    lines = [
        [
            str(turn),
            name,
            str(times),
            f"{one[0].reused + one[0].evaluated:,}",
            f"{one[0].reused:,}",
            spread(_firsts(one), digits=0),
        ]
        for turn, all in found.items()
        for name, one in all.cases()
    ]
    print(table(head, lines) + "\n", flush=True)
    taken = [f"{spread(all.trimming, digits=0)} ms at turn {turn}" for turn, all in found.items()]
    print(f"Trimming ahead took {', '.join(taken)}.\n", flush=True)


def _print_saving(found: dict[int, Times]) -> None:
    print(
        "The slot with the whole prompt, saved and brought back. Checked: by an engine and a\n"
        "server that were just started, which look at the content first.\n"
    )
    head = ("turn", "cells", "MB", "saved, ms", "restored, ms", "checked and restored, ms")
    lines = [
        [
            str(turn),
            f"{one.cells:,}",
            f"{one.size / 1e6:.1f}",
            spread(one.saving, digits=0),
            spread(one.restoring),
            spread(one.checked),
        ]
        for turn, one in found.items()
    ]
    print(table(head, lines) + "\n", flush=True)


def _print_users(throughput: Throughput, times: int) -> None:
    print(
        f"{SLOTS} people, each with a slot in which the prompt lies, {TOKENS} tokens an answer.\n"
    )
    head = ("they ask", "repetitions", "tokens a second of all")
    lines = [
        ["one after the other", str(times), spread(throughput.alone)],
        ["at once", str(times), spread(throughput.at_once)],
    ]
    print(table(head, lines) + "\n", flush=True)


def _print_memory(fresh: Memory, full: Memory, saved: Times) -> None:
    cell = saved.size / saved.cells
    cells = SLOTS * WINDOW
    print(
        f"The engine's memory. Its {cells:,} cells take {cell / 1024:.1f} KiB each, "
        f"{cells * cell / cache_users.MIB:.0f} MiB of it.\n"
    )
    head = ("engine", "resident, MiB", "proportional, MiB")
    lines = [
        [name, f"{one.rss:.0f}", "" if one.pss is None else f"{one.pss:.0f}"]
        for name, one in (("just started", fresh), ("all slots used", full))
    ]
    print(table(head, lines) + "\n", flush=True)


def _print_words(same: SameAnswers) -> None:
    print(
        f"Greedy answers to {same.talks} questions, {cache_words.TOKENS} tokens at most, one at\n"
        "a time: how many are word for word what the engine says where it has read the whole\n"
        "prompt at once, into an empty slot. It rounds by how many tokens it reads together.\n"
    )
    head = ("the question is read behind", "the same", "the same as never saved")
    lines = [
        ["what lay there", f"{same.kept} of {same.talks}", ""],
        ["what was saved and restored", f"{same.restored} of {same.talks}", f"{same.unsaved}"],
        ["what was shifted", f"{same.shifted} of {same.talks}", ""],
    ]
    print(table(head, lines) + "\n", flush=True)


def _rows_of_engine(turn: int, found: Times) -> list[Row]:
    anew, kept, cut, trimmed = (_firsts(one) for _, one in found.cases())
    prompt = f"{found.cells:,} tokens"
    return [
        _row(f"engine, turn {turn} ({prompt}): first token, prompt kept", anew, kept, KEPT),
        _row(f"engine, turn {turn}: four messages cut out of the middle", anew, cut, CUT),
        _row(f"engine, turn {turn}: the same, trimmed ahead", anew, trimmed, CUT),
        _row(f"engine, turn {turn}: the slot restored", anew, found.restoring, RESTORED),
        _row(f"engine, turn {turn}: checked and restored", anew, found.checked),
    ]


def _row_of_users(throughput: Throughput) -> Row:
    more = ratios(throughput.at_once, throughput.alone)
    return Row(
        what=f"engine, {SLOTS} people: one after the other / at once",
        baseline=f"{spread(throughput.alone, digits=0)} tokens/s",
        ours=f"{spread(throughput.at_once, digits=0)} tokens/s",
        ratio=f"x {spread(more)}",
        target=_aim(more, AT_ONCE, "at least {} times the tokens"),
    )


def _row_of_memory(fresh: Memory, full: Memory) -> Row:
    return Row(
        what="engine, resident memory: just started / all slots used",
        baseline=f"{fresh.rss:.0f} MiB",
        ours=f"{full.rss:.0f} MiB",
        ratio=f"{full.rss / fresh.rss:.2f}",
    )


# ---- at the page -------------------------------------------------------------------------------
async def _at_the_page(times: int) -> list[Row]:
    print(
        "At the page: from sending to the first piece of the answer, through the application's\n"
        "socket. Anew: turn 12 or 40 of a conversation that was imported from a file. Its next\n"
        "turns: kept; trimmed ahead (two turns in the middle were left out, and the question\n"
        "came when their cells were gone); cut (two more were, and it came at once); restored\n"
        "(the server was started again).\n"
    )
    found = await cache_page.measure_page(TURNS, times=times)
    head = ("turn", "case", "answers", "prompt tokens", "of them reused", "from", "first piece, ms")
    lines = [
        [
            str(turn),
            case,
            str(len(firsts)),
            f"{statistics.median(first.prompt for first in firsts):,.0f}",
            f"{statistics.median(first.reused for first in firsts):,.0f}",
            ", ".join(sorted({first.origin for first in firsts})),
            spread([first.millis for first in firsts], digits=0),
        ]
        for turn, cases in found.items()
        for case, firsts in cases.items()
    ]
    print(table(head, lines))
    return [
        _row(
            f"page, turn {turn}: first piece, {case}",
            _millis(cases["anew"]),
            _millis(cases[case]),
            least,
        )
        for turn, cases in found.items()
        for case, least in (("kept", KEPT), ("cut", CUT), ("trimmed ahead", CUT), ("restored", 0))
    ]


# ---- figures -----------------------------------------------------------------------------------
def _row(what: str, anew: Sequence[float], ours: Sequence[float], least: int = 0) -> Row:
    faster = ratios(anew, ours)
    many = statistics.median(faster) >= 100
    return Row(
        what=what,
        baseline=f"{spread(anew, digits=0)} ms",
        ours=f"{spread(ours, digits=1 if many else 0)} ms",
        ratio=f"x {spread(faster, digits=0 if many else 1)}",
        target=_aim(faster, least, "at least {} times faster") if least else "",
    )


def _aim(found: Sequence[float], least: int, words: str) -> str:
    holds = statistics.median(found) >= least
    return f"{words.format(least)}: {'holds' if holds else 'MISSED'}"


def _firsts(completions: Sequence[Completion]) -> list[float]:
    return [one.first for one in completions]


def _millis(firsts: Sequence[FirstPiece]) -> list[float]:
    return [first.millis for first in firsts]
