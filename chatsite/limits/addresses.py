"""The address of whoever is at the other end, as the limits count it."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from typing import Any

LONGEST = 64


def address_of(scope: Mapping[str, Any]) -> str:
    """The client of an ASGI connection, "" for an unknown one. Behind a proxy that the settings
    name this is the address that the proxy forwards; the server has put it there."""
    client = scope.get("client")
    return address_key(client[0]) if client else ""


def address_key(host: str) -> str:
    """Of IPv6 the network (/64), because that much is given to one customer."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host[:LONGEST]
    if address.version == 4:
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ip_network((address, 64), strict=False))
