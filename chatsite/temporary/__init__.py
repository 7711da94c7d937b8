"""Temporary chats: conversations that are erased, with every trace, when they are closed."""
