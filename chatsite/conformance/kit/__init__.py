"""Checks of what a chat sends: properties that hold of any function that trims messages.

This folder knows the messages and nothing else of Chatsite, so that it can be taken out into a
package of its own. `chatsite.conformance.policies` tries Chatsite's policies with it.
"""
