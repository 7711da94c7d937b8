"""Keys to services, by the name of the environment variable; printing them shows names alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class Keys(Mapping[str, str]):
    """Holds what is set; of what isn't, `get` gives the default."""

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._keys = {name: key for name, key in keys.items() if key}

    def __getitem__(self, name: str) -> str:
        return self._keys[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"Keys({', '.join(self._keys)})"
