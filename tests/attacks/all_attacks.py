"""Every attack, in the order of the table in docs/security-tests.md."""

from __future__ import annotations

from tests.attacks import answers, edges, mails, requests, rooms, sockets

ATTACKS = (
    *sockets.ATTACKS,
    *requests.ATTACKS,
    *answers.ATTACKS,
    *mails.ATTACKS,
    *rooms.ATTACKS,
    *edges.ATTACKS,
)
