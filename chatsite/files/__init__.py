"""Attached files: typed by their content, inspected in a process of their own, kept in a folder."""
