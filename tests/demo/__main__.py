"""`make channels-demo`: runs until Ctrl-C."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from tests.demo.demo import ADA, ADAS_PASSWORD, ROOM, Demo, with_real_models
from tests.running import ROOT


def main() -> None:
    port = int(os.environ.get("PORT", "8000"))
    folder = Path(os.environ.get("VAR_DIR", ROOT / "var")) / "channels-demo"
    print("Starting a room, a mailbox and Chatsite …", flush=True)
    with Demo(
        folder, with_real_models(), port=port, talk_port=port + 1, mail_port=port + 2
    ) as demo:
        print(f"The room:    {demo.talk.url}/{ROOM}   write something; the agent answers")
        if demo.mail is not None:
            print(f"The mailbox: {demo.mail.url}   write a mail; the answer arrives in seconds")
        else:
            print("The mailbox: not shown, dovecot isn't installed (apt install dovecot-imapd)")
        print(f"The page:    {demo.server.url}   sign in as {ADA}, password {ADAS_PASSWORD}")
        print("Ctrl-C stops all three.", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("\nStopping.")


if __name__ == "__main__":
    main()
