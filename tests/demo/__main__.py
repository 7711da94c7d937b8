"""`make channels-demo`: runs until Ctrl-C."""

from __future__ import annotations

import argparse
import threading

from tests.demo.demo import ADA, ADAS_PASSWORD, ROOM, Demo
from tests.running import ROOT

# The model on this machine answers; the variables of the environment are those of a test.
MODEL = {"CHAT_ENGINE": "auto"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="the page's; the next two follow")
    port: int = parser.parse_args().port
    folder = ROOT / "var" / "channels-demo"
    print("Starting a room, a mailbox and Chatsite …", flush=True)
    with Demo(folder, MODEL, port=port, talk_port=port + 1, mail_port=port + 2) as demo:
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
