"""The rows of saved sessions in memory, which behave like the store's table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chatsite.kv_cache.books import Session, SessionFile


class MemoryRows:
    """`taken` are conversations of which words were taken away since their last answer, `unkept`
    those that leave no file."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.taken: set[str] = set()
        self.unkept: set[str] = set()
        self._used: dict[str, int] = {}
        self._clock = 0

    async def read_session(self, *, key: str) -> Session | None:
        return self.sessions.get(key)

    async def may_save(self, *, conversation: str) -> bool:
        return conversation not in self.unkept

    async def save_session(self, *, conversation: str | None, session: Session) -> bool:
        if conversation in self.taken:
            return False
        self.sessions[session.key] = session
        await self.touch_session(key=session.key)
        return True

    async def touch_session(self, *, key: str) -> None:
        self._clock += 1
        self._used[key] = self._clock

    async def drop_sessions(self, *, keys: Iterable[str]) -> Sequence[str]:
        gone = [self.sessions.pop(key) for key in keys if key in self.sessions]
        return [session.file for session in gone]

    async def list_sessions(self) -> list[SessionFile]:
        return [
            SessionFile(key, s.size, float(self._used[key])) for key, s in self.sessions.items()
        ]

    async def session_files(self) -> set[str]:
        return {session.file for session in self.sessions.values()}

    def take_away(self, conversation: str) -> None:
        """Words of it were changed or deleted."""
        self.taken.add(conversation)
        self.sessions.pop(conversation, None)
