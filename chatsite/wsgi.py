"""For servers that look for WSGI: Chatsite has sockets, so it is an ASGI application. Whoever asks
is told how it is started."""

from chatsite.web.server.not_started import ForAnyServer, NotStarted

_refusal = NotStarted()
application = ForAnyServer(_refusal.refuse, _refusal)
