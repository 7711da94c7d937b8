from __future__ import annotations

from pathlib import Path

from chatsite.providers.embedded import engine


def test_a_model_file_is_known_by_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF\3\0\0\0")
    assert engine.model_fault(path) is None
    path.write_bytes(b"GG")
    assert engine.model_fault(path) == "it is not a GGUF file"
    assert engine.model_fault(tmp_path) == "it is a folder"
    assert engine.model_fault(tmp_path / "none") == "there is no such file"


def test_fingerprints_tell_size_beginning_and_end_apart(tmp_path: Path) -> None:
    megabytes = bytes(6 * 1024 * 1024)
    found = set()
    for number, content in enumerate((megabytes, b"1" + megabytes[1:], megabytes[1:] + b"1", b"")):
        path = tmp_path / str(number)
        path.write_bytes(content)
        assert engine.model_fingerprint(path) == engine.model_fingerprint(path)
        found.add(engine.model_fingerprint(path))
    assert len(found) == 4 and all(len(name) == 16 for name in found)
