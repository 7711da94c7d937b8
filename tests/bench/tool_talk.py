"""A seeded conversation whose tokens are mostly results of tools, and questions about them.

Each turn asks for something, one to four calls look it up, and the assistant says in its own words
what came of it. A needle is a value inside one result; of every third one the answer speaks, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

FIRST = (
    "Ada Boris Clara Dmitri Edith Farid Greta Hanna Ivo Judith Karim Lena Milan Nora Otto".split()
)
LAST = "Marlow Whitfield Okafor Lindqvist Brandt Castell Duarte Ferrant Holm Ibsen Jansky".split()
SERVICES = (
    "billing checkout inventory shipping search ledger mailer tariffs archive scheduler gateway "
    "tickets payroll catalogue notices metering refunds uploads routing sessions"
).split()
PLACES = "harbour mill quay market tower bridge station ferry garden island depot pier".split()
VERBS = "retry flush rotate verify import merge expire replay split restore".split()
SAY = (
    "I went through it and nothing there looks alarming; the rest is as it was agreed last week.",
    "That matches what the team expected, so no further step seems necessary on our side for now.",
    "I'd keep an eye on it for a day or two, and compare it with the numbers of the next run.",
    "It is in order as far as I can see, apart from the small deviations that were known before.",
    "Before anything is changed there, somebody of the team should confirm it: others use it.",
)
GO_ON = ("Thanks. And ", "Good, next: ", "Now ", "Then please ", "One more thing: ", "")


@dataclass(frozen=True, slots=True)
class Found:
    """What one call gives: the arguments, the result, a question about one value of it, the value,
    and the sentence with which an answer would speak of it."""

    tool: str
    arguments: Mapping[str, object]
    result: str
    ask: str
    question: str
    answer: str
    told: str


@dataclass(frozen=True, slots=True)
class Needle:
    """`turn` counts from 0; `told`: the assistant spoke of the value afterwards."""

    turn: int
    question: str
    answer: str
    told: bool


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """`rounds` are the calls of each request of the turn that ends in calls."""

    asked: str
    rounds: Sequence[Sequence[Found]]
    answer: str


def _person(rng: Random) -> str:
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def _hex(rng: Random, digits: int) -> str:
    return f"{rng.getrandbits(4 * digits):0{digits}x}"


def _day(rng: Random) -> str:
    return f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def _time(rng: Random) -> str:
    return f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"


def _remark(rng: Random) -> str:
    return f"As to {rng.choice(SERVICES)} at the {rng.choice(PLACES)}: {rng.choice(SAY)}"


# ---- the forms of results -----------------------------------------------------------------------
def orders(rng: Random) -> Found:
    rows = [
        {
            "order_id": f"A-{rng.randint(10_000, 99_999)}",
            "customer": _person(rng),
            "ordered_on": _day(rng),
            "status": rng.choice(("open", "packed", "shipped", "returned")),
            "total": round(rng.uniform(10, 900), 2),
            "tracking_number": f"TRK{rng.randint(10**9, 10**10 - 1)}",
            "ship_to": {"street": f"{rng.randint(1, 99)} {rng.choice(PLACES)} road", "zone": "N"},
        }
        for _ in range(rng.randint(9, 14))
    ]
    row = rng.choice(rows)
    who, number = row["customer"], str(row["tracking_number"])
    return Found(
        *("list_orders", {"week": rng.randint(1, 52)}, json.dumps(rows, indent=1)),
        f"list this week's orders; {who} asked about a parcel.",
        f"What was the tracking number of {who}'s order?",
        *(number, f"The parcel of {who} goes under {number}."),
    )


def deployment(rng: Random) -> Found:
    name, place = rng.choice(SERVICES), rng.choice(PLACES)
    image = (
        f"registry.{place}.example/{name}:{rng.randint(2, 9)}.{rng.randint(10, 99)}.{_hex(rng, 4)}"
    )
    env = [
        {
            "name": f"{rng.choice(VERBS).upper()}_{rng.choice(SERVICES).upper()}",
            "value": _hex(rng, 12),
        }
        for _ in range(rng.randint(20, 32))
    ]
    spec = {
        "service": name,
        "cluster": place,
        "replicas": rng.randint(2, 12),
        "image": image,
        "resources": {"cpu": f"{rng.randint(100, 900)}m", "memory": f"{rng.randint(200, 900)}Mi"},
        "env": env,
    }
    return Found(
        *("get_deployment", {"service": name, "cluster": place}, json.dumps(spec, indent=1)),
        f"check how {name} is deployed in the {place} cluster.",
        f"Which image does the {name} deployment in the {place} cluster run?",
        *(image, f"It runs {image}."),
    )


def log(rng: Random) -> Found:
    name, place, day = rng.choice(SERVICES), rng.choice(PLACES), _day(rng)
    lines = [
        f"{day} {_time(rng)},{rng.randint(0, 999):03} "
        f"{rng.choice(('INFO', 'INFO', 'DEBUG', 'WARN'))} [{name}-{rng.randint(1, 9)}] "
        f"{rng.choice(VERBS)} of {rng.choice(SERVICES)} done in {rng.randint(3, 999)}ms "
        f"request={_hex(rng, 8)} peer=10.{rng.randint(0, 255)}.{rng.randint(0, 255)}.7"
        for _ in range(rng.randint(18, 30))
    ]
    request = _hex(rng, 8)
    lines.insert(
        rng.randint(2, len(lines)),
        f"{day} {_time(rng)},{rng.randint(0, 999):03} ERROR [{name}-{rng.randint(1, 9)}] "
        f"upstream {place} timed out after {rng.randint(1_000, 9_999)}ms request={request}",
    )
    return Found(
        *("read_log", {"service": name, "lines": 40}, "\n".join(lines)),
        f"look into the log of {name}: something about the {place} upstream failed.",
        f"Which request timed out on the {place} upstream in the {name} log?",
        *(request, f"Request {request} failed there."),
    )


def listing(rng: Random) -> Found:
    name, place = rng.choice(SERVICES), rng.choice(PLACES)
    rows = [
        f"-rw-r--r-- 1 {name} backup {rng.randint(10**5, 10**9):>10} {_day(rng)} {_time(rng)[:5]} "
        f"{rng.choice(SERVICES)}-{rng.choice(VERBS)}-{_hex(rng, 4)}.tar.zst"
        for _ in range(rng.randint(22, 34))
    ]
    size = rng.randint(10**8, 10**9)
    rows.insert(
        rng.randint(0, len(rows)),
        f"-rw-r--r-- 1 {name} backup {size:>10} {_day(rng)} 02:1{rng.randint(0, 9)} "
        f"{place}-nightly.tar.zst",
    )
    return Found(
        *("list_files", {"path": f"/srv/backup/{name}"}, f"total {len(rows)}\n" + "\n".join(rows)),
        f"list the backups of {name}.",
        f"How many bytes has the {place} nightly file in the {name} backup?",
        *(str(size), f"The {place} nightly file has {size} bytes."),
    )


def grep(rng: Random) -> Found:
    name, verb, place = rng.choice(SERVICES), rng.choice(VERBS), rng.choice(PLACES)
    rows = [
        f"services/{rng.choice(SERVICES)}/{rng.choice(VERBS)}_{_hex(rng, 3)}.py:"
        f"{rng.randint(3, 900)}:    {rng.choice(VERBS)}_{rng.choice(SERVICES)}"
        f"({rng.choice(PLACES)}, limit={rng.randint(2, 90)})"
        for _ in range(rng.randint(20, 32))
    ]
    path = f"services/{name}/{place}_{_hex(rng, 3)}.py"
    rows.insert(
        rng.randint(0, len(rows)), f"{path}:{rng.randint(9, 99)}:def {verb}_{name}_policy({place}):"
    )
    return Found(
        *("search_code", {"pattern": f"{verb}_"}, "\n".join(rows)),
        f"search the code for where {name} does its {verb}.",
        f"In which file is the {verb} policy of {name} defined?",
        *(path, f"The policy is defined in {path}."),
    )


def code(rng: Random) -> Found:
    name, verb = rng.choice(SERVICES), rng.choice(VERBS)
    value = rng.randint(10_000, 99_999)
    parts = [
        f"def {rng.choice(VERBS)}_{rng.choice(PLACES)}(items, *, limit={rng.randint(2, 99)}):\n"
        f'    """{rng.choice(SAY)}"""\n'
        f"    for item in items[:limit]:\n"
        f'        {rng.choice(SERVICES)}.send(item, key="{_hex(rng, 6)}")\n'
        for _ in range(rng.randint(9, 15))
    ]
    parts.insert(0, f"import {name}\n\n{verb.upper()}_LEASE_SECONDS = {value}\n")
    return Found(
        *("read_file", {"path": f"services/{name}/{verb}.py"}, "\n\n".join(parts)),
        f"open the {verb} module of {name}.",
        f"How many lease seconds does the {verb} module of {name} set?",
        *(str(value), f"Its lease lasts {value} seconds."),
    )


def pages(rng: Random) -> Found:
    name, verb = rng.choice(SERVICES), rng.choice(VERBS)
    hits = [
        {
            "title": f"How we {rng.choice(VERBS)} {rng.choice(SERVICES)} at {rng.choice(PLACES)}",
            "url": f"https://{rng.choice(PLACES)}.example/{_hex(rng, 6)}",
            "snippet": f"{rng.choice(SAY)} {rng.choice(SAY)}",
            "published": _day(rng),
        }
        for _ in range(rng.randint(7, 10))
    ]
    url = f"https://{rng.choice(PLACES)}.example/{_hex(rng, 6)}"
    title = f"A guide to {verb} {name} keys"
    hits.insert(
        rng.randint(0, 5),
        {"title": title, "url": url, "snippet": rng.choice(SAY), "published": _day(rng)},
    )
    return Found(
        *("search_web", {"query": f"{verb} {name} keys"}, json.dumps(hits, indent=1)),
        f"see what is written about how to {verb} keys of {name}.",
        f"Where is the guide to {verb} {name} keys?",
        *(url, f"The guide at {url} covers it."),
    )


def directory(rng: Random) -> Found:
    rows = [
        f"{_person(rng)},{rng.choice(SERVICES)},{rng.choice(PLACES)} {rng.randint(1, 40)},"
        f"{rng.randint(2, 9)}-{rng.randint(10_000, 99_999)}"
        for _ in range(rng.randint(30, 45))
    ]
    who, extension = _person(rng), f"{rng.randint(2, 9)}-{rng.randint(10_000, 99_999)}"
    rows.insert(rng.randint(0, len(rows)), f"{who},{rng.choice(SERVICES)},tower 7,{extension}")
    return Found(
        *(
            "list_people",
            {"site": rng.choice(PLACES)},
            "name,team,room,extension\n" + "\n".join(rows),
        ),
        f"who works at the site now? I may have to call {who}.",
        f"Which extension has {who}?",
        *(extension, f"{who} answers at {extension}."),
    )


def calendar(rng: Random) -> Found:
    place, name = rng.choice(PLACES), rng.choice(SERVICES)
    events = [
        {
            "event": f"{rng.choice(VERBS)} {rng.choice(SERVICES)}",
            "place": rng.choice(PLACES),
            "begins": f"{_day(rng)}T{_time(rng)}Z",
            "host": _person(rng),
            "id": _hex(rng, 10),
        }
        for _ in range(rng.randint(12, 18))
    ]
    begins = f"{_day(rng)}T{_time(rng)}Z"
    events.insert(
        rng.randint(0, len(events)),
        {
            "event": f"maintenance of {name}",
            "place": place,
            "begins": begins,
            "host": _person(rng),
            "id": _hex(rng, 10),
        },
    )
    return Found(
        *("list_events", {"place": place}, json.dumps(events, indent=1)),
        f"what is in the calendar of the {place}?",
        f"When does the maintenance of {name} at the {place} begin?",
        *(begins, f"The maintenance begins at {begins}."),
    )


FORMS: tuple[Callable[[Random], Found], ...] = (
    *(orders, deployment, log, listing, grep),
    *(code, pages, directory, calendar),
)


# ---- the conversation ----------------------------------------------------------------------------
def tool_talk(seed: int, *, turns: int = 60) -> tuple[list[ToolTurn], list[Needle]]:
    """Every turn has one to four calls in one to three rounds, and a needle in one of them, or in
    two where there are more. No value is in the conversation a second time but where it is told."""
    rng = Random(seed)
    made: list[ToolTurn] = []
    needles: list[Needle] = []
    for turn in range(turns):
        found = [rng.choice(FORMS)(rng) for _ in range(rng.choice((1, 1, 2, 2, 3, 4)))]
        rounds = [each for each in (found[:1], found[1:2] + found[3:], found[2:3]) if each]
        picked = found[:2]
        told = [one for one in picked if rng.random() < 1 / 3]
        needles += [Needle(turn, one.question, one.answer, one in told) for one in picked]
        asked = rng.choice(GO_ON) + " Also ".join(one.ask for one in found[:2])
        said = [one.told for one in told] + [_remark(rng) for _ in range(rng.randint(7, 11))]
        made.append(ToolTurn(asked, rounds, " ".join(said)))
    return made, needles
