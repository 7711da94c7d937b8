"""A mailbox as a page: Ada writes to the agent and reads what it answers."""

from __future__ import annotations

import html
import threading
from dataclasses import dataclass, field
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, quote, urlsplit

from tests.fakes.dovecot import Dovecot
from tests.fakes.mailing import AGENT, id_of, written
from tests.fakes.smtp_sink import SmtpSink, text_of

ADA = "ada@example.org"
STYLE = """
body { font: 15px/1.5 Inter, system-ui, sans-serif; margin: 0; background: #f3f1ec; }
body { color: #1f1d1a; }
main { max-width: 720px; margin: 0 auto; padding: 24px 20px; }
h1 { font-size: 20px; }
article, form { background: #fff; border: 1px solid #e6e2da; border-radius: 8px; }
article, form { padding: 14px 16px; margin: 0 0 14px; }
article.answer { border-left: 4px solid #2f5d50; }
.to { color: #5d5850; margin: 0 0 8px; }
.text { white-space: pre-wrap; margin: 0; overflow-wrap: anywhere; }
input, textarea { display: block; width: 100%; box-sizing: border-box; }
input, textarea { margin: 6px 0; padding: 7px; font: inherit; }
"""


@dataclass
class MailboxPage:
    """`with MailboxPage(mailbox, sink, port=...) as page:` serves until the block ends."""

    mailbox: Dovecot
    sink: SmtpSink
    port: int
    sent: list[tuple[int, str, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = parse_qs(urlsplit(self.path).query)
                self._answer(200, page.shown(**{name: said[0] for name, said in asked.items()}))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                said = {name: values[0] for name, values in parse_qs(body).items()}
                page.write(said.get("subject", ""), said.get("text", ""), said.get("answers", ""))
                self.send_response(303)
                self.send_header("Location", "/")
                self.end_headers()

            def _answer(self, status: int, text: str) -> None:
                data = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *said: object) -> None:
                return None

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def write(self, subject: str, text: str, answers: str = "") -> None:
        """Ada's mail, as the mail server delivers it after checking who sent it."""
        if text.strip():
            self.sent.append((len(self.sink.raw), subject, text))
            self.mailbox.deliver(written(text, sender=ADA, subject=subject, answers=answers))

    def shown(self, subject: str = "", answers: str = "") -> str:
        """All mails in their order, and the form."""
        rows: list[str] = []
        mails = self.sink.mails
        for before in range(len(mails) + 1):
            rows += [_sent(said, text) for at, said, text in self.sent if at == before]
            rows += [_answer(mail) for mail in mails[before : before + 1]]
        return (
            "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            "<link rel=icon href='data:,'>"
            f"<title>Ada's mail</title><style>{STYLE}</style><main><h1>Ada's mail</h1>"
            f"{''.join(rows)}{_form(subject, answers)}"
            "<p><a href='/'>Look for new mail</a></p></main>"
        )


def _sent(subject: str, text: str) -> str:
    return (
        f"<article><p class=to>To {AGENT} · <b>{html.escape(subject)}</b></p>"
        f"<p class=text>{html.escape(text)}</p></article>"
    )


def _answer(mail: EmailMessage) -> str:
    subject = str(mail["Subject"])
    link = f"/?subject={quote(subject)}&answers={quote(id_of(mail))}#write"
    return (
        f"<article class=answer><p class=to>From {AGENT} · <b>{html.escape(subject)}</b></p>"
        f"<p class=text>{html.escape(text_of(mail))}</p>"
        f"<p><a href='{html.escape(link)}'>Reply</a></p></article>"
    )


def _form(subject: str, answers: str) -> str:
    return (
        f"<form method=post id=write><b>Write to {AGENT}</b>"
        f"<input name=subject placeholder=Subject value='{html.escape(subject)}'>"
        f"<input type=hidden name=answers value='{html.escape(answers)}'>"
        "<textarea name=text rows=4 placeholder='What do you want to ask?'></textarea>"
        "<button>Send</button></form>"
    )
