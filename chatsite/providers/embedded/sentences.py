"""The engine's status in sentences for people, each with what to do.

A status is set where nobody asks, and said where it is shown. Those that name files and variables
of the server are its administrator's, in English.
"""

from __future__ import annotations

import signal
from pathlib import Path

from chatsite.wording import later

NOT_STARTED = later("The model on this machine hasn't been started.")
STOPPED = later("The model on this machine was stopped with the server.")
RESTARTING = later("The model stopped unexpectedly and is being started again.")
STILL_LOADING = later(
    "The model on this machine is still loading. What you wrote is kept. Try again in a moment."
)
NO_BUNDLED_MODEL = later(
    "The model that comes with Chatsite isn't installed. Run `make run` again with a network, set "
    "CHAT_MODEL_PATH to a GGUF file, or set OPENAI_API_KEY."
)
STAGES = {
    "start": (later("Starting the model's engine."), 0.1),
    "probe": (later("Looking whether the model can run on this machine."), 0.2),
    "load": (later("Loading the model."), 0.4),
    "listen": (later("The model is almost ready."), 0.9),
}
NOT_INSTALLED = later(
    "The engine for the model isn't installed. Run `make run` again with a network. Until then set "
    "OPENAI_API_KEY to use another model."
)
WRONG_PROCESSOR = later(
    "This machine's processor can't run the model's engine. Until then set OPENAI_API_KEY to use "
    "another model."
)
_OTHERWISE = "Until then set OPENAI_API_KEY to use another model."


def bad_model(path: Path, fault: str) -> str:
    return f"CHAT_MODEL_PATH names {path.name}, but {fault}. Correct it and start the server again."


def failed(reason: str, *, path: Path | None, log: Path) -> str:
    """The process reported the `reason` why it can't run."""
    if reason == "missing":
        return NOT_INSTALLED
    if reason == "broken":
        return (
            f"The engine for the model doesn't load on this machine; {log.name} says why. "
            + _OTHERWISE
        )
    if path is not None:
        return (
            f"The engine can't use the model {path.name}; {log.name} says why. Set "
            "CHAT_MODEL_PATH to another GGUF file and start the server again."
        )
    return f"The engine can't use its model; {log.name} says why. " + _OTHERWISE


def crash(code: int) -> str:
    """ "" where another start may help."""
    if code == -getattr(signal, "SIGILL", 0) and code:
        return WRONG_PROCESSOR
    return ""


def gave_up(detail: str, *, log: Path) -> str:
    return (
        f"The model's engine didn't start in three attempts ({detail}); {log.name} may say why. Is "
        "there too little memory? Start the server again to try once more. " + _OTHERWISE
    )
