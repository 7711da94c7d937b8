"""What people attach: told by its content, looked at in a process of its own, kept in a folder."""
