"""Checks of what a chat sends: properties that hold of any function that trims messages.

README.md says how to use them. Of Chatsite the modules here know `chatsite.messages` alone; the
folder `strategies` tries an agent's strategy, and knows the history and the agents too.
"""
