"""Nodes whose parts have messages, over either middleware, and waiting."""

import asyncio
from types import SimpleNamespace as new

import cdr

# Shorter than that of the tests, so that the peer says what it waited for.
PATIENCE_S = 30


async def until(is_so, what):
    """Waits until it is so."""
    for _ in range(PATIENCE_S * 100):
        if is_so():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError(what)


async def within(future, what):
    """Returns what the future has, unless that takes too long."""
    try:
        return await asyncio.wait_for(future, PATIENCE_S)
    except asyncio.TimeoutError:
        raise TimeoutError(f"{what}: no answer") from None


def spawn(coroutine):
    """Runs it beside all else. If it fails, so does the peer."""
    task = asyncio.get_running_loop().create_task(coroutine)
    TASKS.add(task)
    task.add_done_callback(end)


def end(task):
    TASKS.discard(task)
    # Tasks that are left are canceled when the peer ends.
    if not task.cancelled():
        task.result()


# Nobody else keeps a task.
TASKS = set()


class Node:
    def __init__(self, middleware, name):
        self.bare = middleware.node(name)

    def publisher(self, topic, message, latched=False):
        """Returns a function that publishes, and one that returns how many hear it."""
        publish, count = self.bare.publisher(topic, message, latched)
        return lambda **fields: publish(cdr.encode(message.kind, new(**fields))), count

    def subscription(self, topic, message, hear, latched=False):
        """Has `hear` called with each message. Returns a function that returns how many publish."""
        return self.bare.subscription(topic, message, latched, lambda data: hear(cdr.decode(message.kind, data)))

    def server(self, name, service, serve):
        """Serves. `serve` returns the response for a request, or is a coroutine function that does."""

        async def answer(data):
            response = serve(cdr.decode(service.request, data))
            if asyncio.iscoroutine(response):
                response = await response
            return cdr.encode(service.response, response)

        self.bare.server(name, service, answer)

    def client(self, name, service):
        """Returns a coroutine function that waits for the server, and calls it."""
        call, is_there = self.bare.client(name, service)

        async def called(**fields):
            await until(is_there, f"{name} is not there")
            answer = call(cdr.encode(service.request, new(**fields)))
            return cdr.decode(service.response, await within(answer, name))

        return called

    def hashes(self, topic, message):
        """Returns a function that returns the hashes of the type that the publishers of a topic tell."""
        return self.bare.hashes(topic, message)
