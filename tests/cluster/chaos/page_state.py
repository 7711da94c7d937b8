"""What a page shows, made from the events as static/chat/state/apply.js makes it."""

from __future__ import annotations

from typing import Any

from tests.cluster.chaos.record import Record, now


class PageState:
    """`pending` are texts that weren't confirmed, by client id; `receipt` is the turn whose receipt
    is shown; `stale`: only a new snapshot helps."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.opened = self.stale = False
        self.messages: dict[str, dict[str, Any]] = {}
        self.title = self.receipt = ""
        self.turn: dict[str, Any] | None = None
        self.pending: dict[str, str] = {}
        # When its connection was lost; 0.0: it has a snapshot.
        self._lost = 0.0

    @property
    def path(self) -> list[dict[str, Any]]:
        return sorted(self.messages.values(), key=lambda one: int(one["seq"]))

    def _apply_snapshot(self, event: dict[str, Any]) -> None:
        self.opened, self.stale = True, False
        self.messages = {one["id"]: one for one in event["messages"]}
        self.turn = event["turn"]
        self.receipt = (event["receipt"] or {}).get("turn", "")
        self.title = event["conversation"]["title"] if event["conversation"] else ""
        if self._lost:
            self.record.without_page.append(now() - self._lost)
            self._lost = 0.0

    def _apply_turn_started(self, event: dict[str, Any]) -> None:
        self.pending.pop(event["client_id"], None)
        self.record.started(event)
        known = event["resent"] or (self.turn is not None and self.turn["id"] == event["turn"])
        self.title = event["conversation"]["title"]
        if not known and event["gone_from"]:
            gone = [one["id"] for one in self.messages.values() if one["seq"] >= event["gone_from"]]
            for id in gone:
                del self.messages[id]
        self._merge(event["messages"])
        if not known:
            self.turn = {**event, "id": event["turn"]}

    def _apply_delta(self, event: dict[str, Any]) -> None:
        if self.turn is None or self.turn["id"] != event["turn"]:
            return
        known = self.turn[event["part"]]
        if event["offset"] > len(known):
            self.record.counts["gaps, filled by a snapshot"] += 1
            self.stale = True
        elif event["offset"] + len(event["text"]) > len(known):
            self.turn[event["part"]] = known + event["text"][len(known) - event["offset"] :]

    def _apply_decided(self, event: dict[str, Any]) -> None:
        if self.turn is not None and self.turn["id"] == event["turn"]:
            self.receipt = event["turn"]

    def _apply_turn_ended(self, event: dict[str, Any]) -> None:
        self.record.turn_ended(event)
        if event["reported"] and self.receipt != event["turn"]:
            self.stale = True
        self._merge([*event["messages"], *([event["message"]] if event["message"] else [])])
        if self.turn is not None and self.turn["id"] == event["turn"]:
            self.turn = None

    def _apply_marked(self, event: dict[str, Any]) -> None:
        if event["message"] in self.messages:
            self.messages[event["message"]] |= {"pinned": event["pinned"], "state": event["state"]}

    def _apply_messages_changed(self, event: dict[str, Any]) -> None:
        for id in event["gone"]:
            self.messages.pop(id, None)
        self._merge(event["messages"])

    def _apply_path_changed(self, event: dict[str, Any]) -> None:
        self.stale = True

    def _apply_renamed(self, event: dict[str, Any]) -> None:
        self.title = event["title"]

    def _merge(self, messages: list[dict[str, Any]]) -> None:
        self.messages |= {one["id"]: one for one in messages}
