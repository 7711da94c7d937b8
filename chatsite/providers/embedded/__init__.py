"""The model that runs on this machine: one engine process, supervised, spoken to over loopback."""
