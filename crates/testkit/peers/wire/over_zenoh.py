"""Nodes over Eclipse Zenoh, as rmw_zenoh_cpp has them: keys, liveliness tokens, attachments, and advanced publishers that keep what
latched topics had. What is sent and heard is CDR without its encapsulation header.
"""

import asyncio
import os

import zenoh
import zenoh.ext

import cdr
from interfaces import dds_name
from node import spawn
from zenoh_wire import DOMAIN, QOS, attachment, open_session, read_attachment

# Transient local, keeping the last.
LATCHED = ":1:,1:,:,:,,"
# Parts of a token.
KIND, TOPIC, HASH = 5, 9, 11


def mangle(topic):
    return f"%{topic}".replace("/", "%")


def key(topic, interface):
    return f"{DOMAIN}/{topic}/{dds_name(interface.name)}/{interface.hash}"


def body(payload):
    data = payload.to_bytes()
    assert data[:2] == cdr.LITTLE_ENDIAN[:2], data[:4]
    return data[4:]


class Middleware:
    def __init__(self, endpoint):
        self.session = open_session(endpoint)
        self.loop = asyncio.get_running_loop()
        # Tokens of all sessions that are there, split into their parts.
        self.graph = {}
        everything = f"@ros2_lv/{DOMAIN}/**"
        self.kept = [self.session.liveliness().declare_subscriber(everything, self.on_loop(self.note), history=True)]
        self.entities = 0

    def on_loop(self, function):
        """The function as a callback that Zenoh's threads may call."""
        return lambda argument: self.loop.call_soon_threadsafe(function, argument)

    def note(self, token):
        name = str(token.key_expr)
        if token.kind == zenoh.SampleKind.PUT:
            self.graph[name] = name.split("/")
        else:
            self.graph.pop(name, None)

    def found(self, kind, topic, interface):
        """Returns the hashes of the entities of that kind, of one topic and type."""
        searched = [kind, mangle(topic), dds_name(interface.name)]
        return [parts[HASH] for parts in self.graph.values() if [parts[KIND], *parts[TOPIC:HASH]] == searched]

    def count(self, kind, topic, interface):
        return self.found(kind, topic, interface).count(interface.hash)

    def node(self, name):
        return Node(self, name)

    async def run(self):
        await asyncio.Event().wait()

    def close(self):
        self.session.close()


class Node:
    def __init__(self, middleware, name):
        self.middleware, self.session, self.name = middleware, middleware.session, name
        self.id = middleware.entities
        self.announce("NN")

    def announce(self, kind, *entity):
        """Puts the node, or one of its entities, into the graph."""
        ids = [str(self.id), str(self.middleware.entities)]
        self.middleware.entities += 1
        parts = ["@ros2_lv", str(DOMAIN), str(self.session.zid()), *ids, kind, "%", "%", self.name]
        if entity:
            topic, interface, qos = entity
            parts += [mangle(topic), dds_name(interface.name), interface.hash, qos]
        self.keep(self.session.liveliness().declare_token("/".join(parts)))

    def keep(self, entity):
        self.middleware.kept.append(entity)
        return entity

    def publisher(self, topic, message, latched):
        """Returns a function that publishes, and one that returns how many hear it."""
        name, gid, numbers = key(topic, message), os.urandom(16), iter(range(1, 1 << 60))
        if latched:
            ext = zenoh.ext
            misses = ext.MissDetectionConfig(heartbeat=None, sporadic_heartbeat=0.5)
            kept = {"cache": ext.CacheConfig(1), "publisher_detection": True, "sample_miss_detection": misses}
            publisher = ext.declare_advanced_publisher(self.session, name, **kept)
        else:
            publisher = self.session.declare_publisher(name, congestion_control=zenoh.CongestionControl.BLOCK)
        self.keep(publisher)
        self.announce("MP", topic, message, LATCHED if latched else QOS)
        publish = lambda data: publisher.put(cdr.LITTLE_ENDIAN + data, attachment=attachment(next(numbers), gid))
        return publish, lambda: self.middleware.count("MS", topic, message)

    def subscription(self, topic, message, latched, hear):
        """Has `hear` called with what comes. Returns a function that returns how many publish."""
        name, last = key(topic, message), {}

        def take(sample):
            number, gid = read_attachment(sample.attachment)
            assert number > last.get(gid, 0), (number, last)
            last[gid] = number
            hear(body(sample.payload))

        take = self.middleware.on_loop(take)
        if latched:
            history = zenoh.ext.HistoryConfig(detect_late_publishers=True, max_samples=1)
            recovery = zenoh.ext.RecoveryConfig(periodic_queries=None, heartbeat=True)
            asks = {"history": history, "recovery": recovery, "subscriber_detection": True}
            self.keep(zenoh.ext.declare_advanced_subscriber(self.session, name, take, **asks))
        else:
            self.keep(self.session.declare_subscriber(name, take))
        self.announce("MS", topic, message, LATCHED if latched else QOS)
        return lambda: self.middleware.count("MP", topic, message)

    def server(self, name, service, answer):
        """Serves. `answer` returns a response, sooner or later, for a request."""
        service_key = key(name, service)

        async def serve(query):
            with query:
                number, gid = read_attachment(query.attachment)
                response = await answer(body(query.payload))
                query.reply(service_key, cdr.LITTLE_ENDIAN + response, attachment=attachment(number, gid))

        hear = self.middleware.on_loop(lambda query: spawn(serve(query)))
        self.keep(self.session.declare_queryable(service_key, hear, complete=True))
        self.announce("SS", name, service, QOS)

    def client(self, name, service):
        """Returns a function that calls, and one that returns true if a server is there."""
        self.announce("SC", name, service, QOS)
        gid, numbers = os.urandom(16), iter(range(1, 1 << 60))

        def call(request):
            answered, number = self.middleware.loop.create_future(), next(numbers)

            def hear(reply):
                assert reply.ok is not None, reply.err.payload.to_string()
                assert read_attachment(reply.ok.attachment) == (number, gid), reply.ok.attachment
                answered.set_result(body(reply.ok.payload))

            self.session.get(
                key(name, service),
                self.middleware.on_loop(hear),
                target=zenoh.QueryTarget.ALL_COMPLETE,
                consolidation=zenoh.ConsolidationMode.NONE,
                payload=cdr.LITTLE_ENDIAN + request,
                attachment=attachment(number, gid),
                timeout=3600,
            )
            return answered

        return call, lambda: self.middleware.count("SS", name, service) > 0

    def hashes(self, topic, message):
        """Returns a function that returns the hashes that the publishers of a topic tell."""
        return lambda: self.middleware.found("MP", topic, message)
