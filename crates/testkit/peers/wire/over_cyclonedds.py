"""Nodes over Eclipse Cyclone DDS, as rmw_cyclonedds_cpp has them: names of topics and types, the header before requests and
responses, user data, and the topic on which nodes are announced. What is sent and heard is CDR without its encapsulation header.
"""

import asyncio
import os
from types import SimpleNamespace as new

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import uint8
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

import cdr
from interfaces import ParticipantEntitiesInfo, dds_name
from node import spawn

# A writer waits for room for as long as it takes to send something large.
QOS = Qos(Policy.Reliability.Reliable(duration(seconds=10)), Policy.History.KeepLast(10))
LATCHED = Qos(
    Policy.Reliability.Reliable(duration(seconds=10)), Policy.History.KeepLast(1), Policy.Durability.TransientLocal
)
POLL_S = 0.002
# Client and number of a request.
HEADER = 16


def raw_type(name):
    """A type whose samples are bytes: the codec is ours. The library checks what it sends and gets as far as the fields that it
    knows go: one byte."""

    class Raw(IdlStruct, typename=name):
        first: uint8

        def __init__(self, data):
            self.data = data

        def serialize(self, **_):
            return cdr.LITTLE_ENDIAN + self.data

        @classmethod
        def deserialize(cls, data, **_):
            assert data[:2] == cdr.LITTLE_ENDIAN[:2], data[:4]
            return cls(bytes(data[4:]))

        @classmethod
        def deserialize_key(cls, data, **_):
            return cls(b"")

    return Raw


def user_data(**settings):
    return Policy.Userdata("".join(f"{name}={value};" for name, value in settings.items()).encode())


class Middleware:
    def __init__(self, domain_id):
        self.participant = DomainParticipant(int(domain_id))
        self.nodes = []
        # All readers with what their data is handed to, and all writers: an entity that nobody keeps is deleted.
        self.inbox, self.writers = [], []
        self.says = self.writer("ros_discovery_info", dds_name(ParticipantEntitiesInfo.name), LATCHED)

    def node(self, name):
        node = Node(self, name)
        self.nodes.append(node)
        return node

    async def run(self):
        """Hands on what comes. Readers are polled: a listener would be called under locks of the library."""
        while True:
            for reader, hear in list(self.inbox):
                for sample in reader.take(N=100):
                    if sample.sample_info.valid_data:
                        hear(sample.data)
            await asyncio.sleep(POLL_S)

    def close(self):
        pass

    def entity(self, kind, topic, type_name, qos):
        return kind(self.participant, Topic(self.participant, topic, raw_type(type_name)), qos=qos)

    def writer(self, topic, type_name, qos):
        writer = self.entity(DataWriter, topic, type_name, qos)
        self.writers.append(writer)
        return writer

    def reader(self, topic, type_name, qos, hear):
        reader = self.entity(DataReader, topic, type_name, qos)
        self.inbox.append((reader, hear))
        return reader

    def announce(self):
        """Tells who the nodes are, and what belongs to them."""
        entry = lambda node: new(
            node_namespace="/", node_name=node.name, reader_gid_seq=node.readers, writer_gid_seq=node.writers
        )
        info = new(gid=self.participant.guid.bytes, node_entities_info_seq=list(map(entry, self.nodes)))
        write(self.says, cdr.encode(ParticipantEntitiesInfo.kind, info))


def write(writer, data):
    writer.write(writer.topic.data_type(data))


class Node:
    def __init__(self, middleware, name):
        self.middleware, self.name = middleware, name
        self.readers, self.writers = [], []

    def writer(self, topic, type_name, qos):
        writer = self.middleware.writer(topic, type_name, qos)
        self.writers.append(writer.guid.bytes)
        return writer

    def reader(self, topic, type_name, qos, hear):
        reader = self.middleware.reader(topic, type_name, qos, hear)
        self.readers.append(reader.guid.bytes)
        return reader

    def publisher(self, topic, message, latched):
        """Returns a function that publishes, and one that returns how many hear it."""
        qos = (LATCHED if latched else QOS) + Qos(user_data(typehash=message.hash))
        writer = self.writer(f"rt/{topic}", dds_name(message.name), qos)
        self.middleware.announce()
        return lambda data: write(writer, data), lambda: len(writer.get_matched_subscriptions())

    def subscription(self, topic, message, latched, hear):
        """Has `hear` called with what comes. Returns a function that returns how many publish."""
        qos = (LATCHED if latched else QOS) + Qos(user_data(typehash=message.hash))
        reader = self.reader(f"rt/{topic}", dds_name(message.name), qos, hear)
        self.middleware.announce()
        return lambda: len(reader.get_matched_publications())

    def pair(self, reads, writes, service, role, hear):
        """The reader and the writer of a server or client. `reads` and `writes` are pairs of a topic and what it has."""
        name = ".".join(f"{byte:x}" for byte in os.urandom(16))
        qos = QOS + Qos(user_data(**{role: name}))
        types = [dds_name(f"{service.name}_{kind}") for _, kind in (reads, writes)]
        writer = self.writer(writes[0], types[1], qos)
        reader = self.reader(reads[0], types[0], qos, hear)
        self.middleware.announce()
        return reader, writer

    def server(self, name, service, answer):
        """Serves. `answer` returns a response, sooner or later, for a request."""

        async def serve(request):
            response = await answer(request[HEADER:])
            # A reader of responses may be matched after its request came.
            while len(writer.get_matched_subscriptions()) < len(reader.get_matched_publications()):
                await asyncio.sleep(POLL_S)
            write(writer, request[:HEADER] + response)

        hear = lambda request: spawn(serve(request))
        ends = (f"rq/{name}Request", "Request"), (f"rr/{name}Reply", "Response")
        reader, writer = self.pair(*ends, service, "serviceid", hear)

    def client(self, name, service):
        """Returns a function that calls, and one that returns true if a server is there."""
        client, calls = os.urandom(8), {}

        def hear(response):
            header, response = response[:HEADER], response[HEADER:]
            if header in calls:
                calls.pop(header).set_result(response)

        ends = (f"rr/{name}Reply", "Response"), (f"rq/{name}Request", "Request")
        reader, writer = self.pair(*ends, service, "clientid", hear)
        numbers = iter(range(1, 1 << 60))

        def call(request):
            header = client + next(numbers).to_bytes(8, "little")
            calls[header] = asyncio.get_running_loop().create_future()
            write(writer, header + request)
            return calls[header]

        return call, lambda: bool(writer.get_matched_subscriptions() and reader.get_matched_publications())

    def hashes(self, topic, message):
        """Returns a function that returns the hashes that the publishers of a topic tell."""
        reader = self.reader(f"rt/{topic}", dds_name(message.name), QOS, lambda data: None)

        def told():
            handles = reader.get_matched_publications()
            found = [reader.get_matched_publication_data(handle).qos for handle in handles]
            texts = [qos[Policy.Userdata].data.decode() for qos in found if Policy.Userdata in qos]
            return [text.split("typehash=")[1].split(";")[0] for text in texts if "typehash=" in text]

        return told
