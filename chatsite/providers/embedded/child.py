"""The engine's own process: `python -m chatsite.providers.embedded.child`.

A crash in native code ends this process and not the server. It reads its configuration as one JSON
line from stdin, never from an argument, so that the key isn't visible in a process list. Stdin then
stays open, and its end shows that the parent has ended, for whatever reason. It reports with JSON
lines on stdout: {"stage": "probe" | "load" | "listen" | "failed", ...}.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

Say = Callable[[dict[str, object]], None]


def main() -> None:
    # Ctrl-C and a service manager's SIGTERM reach the whole group; the parent decides when this
    # process ends, since answers may still be written.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.umask(0o077)  # saved slots contain the words of conversations
    tell = _private_stdout()
    config = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    tell({"stage": "probe"})
    try:
        xllamacpp = importlib.import_module("xllamacpp")
    except ImportError as error:
        reason = "missing" if error.name == "xllamacpp" else "broken"
        _fail(tell, reason, error)
    tell({"stage": "load"})
    try:
        server = xllamacpp.Server(_parameters(xllamacpp, config))
    except Exception as error:
        _fail(tell, "model", error)
    tell({"stage": "listen", "address": server.listening_address})
    threading.Event().wait()


def _parameters(xllamacpp: ModuleType, config: Mapping[str, Any]) -> object:
    """llama.cpp's server settings; `n_ctx` is the total of all slots."""
    p = xllamacpp.CommonParams()
    p.model.path = config["model"]
    p.api_keys = [config["key"]]
    p.hostnames = ["127.0.0.1"]
    p.port = 0
    p.n_parallel = config["slots"]
    p.n_ctx = config["window"] * config["slots"]
    p.n_batch = p.n_ubatch = 512
    # One thread writes and two read prompts; more would take the core that the server needs.
    p.cpuparams.n_threads = 1
    p.cpuparams_batch.n_threads = 2
    p.n_threads_http = config["slots"] + 4
    # Nothing but the slots is cached: the engine's own copies of former prompts would restore cells
    # that are in no book.
    p.cache_ram_mib = 0
    p.cache_idle_slots = False
    p.n_cache_reuse = 16
    # Checkpoints are made only for models that can't remove single cells, by default 32 a slot: 120
    # MB each with Gemma 3 4B. The newest two are at the last prompt's end, where a retry starts.
    p.n_ctx_checkpoints = 2
    # Set explicitly, because a session's fingerprint has both.
    p.cache_type_k = p.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F16
    # On a CPU, flash attention reads 2,000 tokens at once a quarter faster, but a question of 30
    # tokens a third slower, and after 3,000 cells it writes at half the speed. Most prompts here
    # are a question.
    p.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    if config["sessions"]:
        # File names are appended to it directly.
        p.slot_save_path = config["sessions"] + os.sep
    p.endpoint_slots = True
    p.ui = False
    p.verbosity = 1
    return p


def _private_stdout() -> Say:
    """Reserve stdout for our lines; what native code prints is sent to stderr."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(line: dict[str, object]) -> None:
        own.write(json.dumps(line) + "\n")
        own.flush()

    return tell


def _end_with_parent() -> None:
    # The bare descriptor: a thread that reads sys.stdin would hold its lock, and delay the exit.
    while os.read(0, 4096):
        pass
    os._exit(0)


def _fail(tell: Say, reason: str, error: Exception) -> None:
    detail = f"{type(error).__name__}: {error}"[:500]
    print(detail, file=sys.stderr, flush=True)
    tell({"stage": "failed", "reason": reason, "detail": detail})
    os._exit(1)


if __name__ == "__main__":
    main()
