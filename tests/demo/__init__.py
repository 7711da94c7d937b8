"""The channels at work: a room, a mailbox and the page, on this machine alone."""
