from django.urls import path

from chatsite.live.consumer import ChatConsumer

routes = [path("ws", ChatConsumer.as_asgi())]
