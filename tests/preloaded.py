"""What servers import, whatever their settings are: a process that has imported this module starts
servers (`tests.started`). No module here reads the environment or the settings."""

import aiohttp
import aiosmtplib
import channels.auth
import channels.generic.websocket
import channels.routing
import channels.security.websocket
import csp.middleware
import django.contrib.admin.sites
import django.contrib.staticfiles.finders
import django.contrib.staticfiles.storage
import django.core.handlers.asgi
import django.core.management.commands.migrate
import django.core.serializers.json
import django.db.backends.sqlite3.base
import django.db.migrations.executor
import django.middleware.gzip
import django.template.defaulttags
import django.template.loaders.cached
import django.views.debug
import environ
import jsonschema
import uvicorn.lifespan.on
import uvicorn.loops.auto
import uvicorn.protocols.http.h11_impl
import uvicorn.protocols.websockets.websockets_sansio_impl
import whitenoise.middleware
import whitenoise.storage

import chatsite.history
import chatsite.live.commands
import chatsite.mail.incoming.contents
import chatsite.mail.incoming.quotes.quoted
import chatsite.mail.mailbox
import chatsite.providers.base.thoughts
import chatsite.providers.echo
import chatsite.providers.reachable
import chatsite.talk.api
import chatsite.talk.names
import chatsite.talk.text.parts
import chatsite.tools.mcp.connections
