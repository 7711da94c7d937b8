"""What is logged of a request that Django refuses."""

from __future__ import annotations

import logging

# Django's log escapes with it, and Python would load it with the first refused request: from a
# file, also when none can be opened.
"".encode("unicode_escape")


class OneLine(logging.Filter):
    """A filter for a handler: a refused request gets a line and no traceback, of which anybody
    could fill the log with any number. Errors of ours keep theirs."""

    def filter(self, record: logging.LogRecord) -> bool:
        refused = getattr(record, "status_code", 500) < 500
        if refused and record.name.startswith("django."):
            record.exc_info = record.exc_text = None
            if record.levelno > logging.WARNING:
                record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True
