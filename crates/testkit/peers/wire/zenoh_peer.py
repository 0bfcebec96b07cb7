"""A ROS 2 peer that shares no code with this crate: Eclipse Zenoh under Python, and the keys, tokens, attachments and bytes of
rmw_zenoh_cpp written out by hand.

Usage: zenoh_peer.py echo|add|call ENDPOINT

- echo: sends back on `/echo` what it hears on `/chatter`, until it hears "the end".
- add: serves `/add_two_ints`, until it is asked for a sum of zeros.
- call: calls `/add_two_ints`, ten times, several calls in flight, and then for a sum of zeros.
"""

import os
import queue
import struct
import sys
import time

import zenoh

from zenoh_wire import DOMAIN, QOS, attachment, open_session, read_attachment

PATIENCE_S = 40

# Name and hash of a type, as ROS 2 Jazzy has them.
STRING = "std_msgs::msg::dds_::String_/RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
ADD_TWO_INTS = (
    "example_interfaces::srv::dds_::AddTwoInts_/RIHS01_e118de6bf5eeb66a2491b5bda11202e7b68f198d6f67922cf30364858239c81a"
)

# Nothing follows in the four bytes before the little-endian CDR.
HEADER = bytes([0, 1, 0, 0])


def key(name, type_and_hash):
    return f"{DOMAIN}/{name.lstrip('/')}/{type_and_hash}"


def encode_string(text):
    data = text.encode() + b"\0"
    return HEADER + struct.pack("<I", len(data)) + data


def decode_string(payload):
    assert payload[:4] == HEADER, payload[:4]
    (length,) = struct.unpack_from("<I", payload, 4)
    assert len(payload) == 8 + length and payload[-1] == 0, payload
    return payload[8:-1].decode()


class Peer:
    """A node of that name in the namespace `/`."""

    def __init__(self, endpoint, name):
        self.session = open_session(endpoint)
        self.name = name
        self.gid = os.urandom(16)
        self.tokens = []
        self.entities = 0
        self.announce("NN", None)

    def announce(self, kind, entity):
        """Puts the node, or one of its entities, into the graph."""
        parts = ["@ros2_lv", str(DOMAIN), str(self.session.zid()), "0", str(self.entities), kind, "%", "%", self.name]
        if entity is not None:
            topic, type_and_hash = entity
            parts += [topic.replace("/", "%"), type_and_hash, QOS]
        self.entities += 1
        self.tokens.append(self.session.liveliness().declare_token("/".join(parts)))

    def await_entity(self, kind, topic, type_and_hash):
        """Waits until somebody else's token is there."""
        other = f"@ros2_lv/{DOMAIN}/*/*/*/{kind}/%/%/*/{topic.replace('/', '%')}/{type_and_hash}/*"
        patience_ends = time.monotonic() + PATIENCE_S
        while time.monotonic() < patience_ends:
            replies = self.session.liveliness().get(other)
            if any(reply.ok is not None for reply in replies):
                return
            time.sleep(0.01)
        sys.exit(f"no token {other}")


def echo(peer):
    heard = queue.Queue()
    subscriber = peer.session.declare_subscriber(key("/chatter", STRING), heard.put)
    # Nothing of what it says is to be dropped for want of room.
    waits = zenoh.CongestionControl.BLOCK
    publisher = peer.session.declare_publisher(key("/echo", STRING), congestion_control=waits)
    peer.announce("MS", ("/chatter", STRING))
    peer.await_entity("MS", "/echo", STRING)
    peer.announce("MP", ("/echo", STRING))
    gids = set()
    text, count = None, 0
    while text != "the end":
        sample = heard.get(timeout=PATIENCE_S)
        count += 1
        number, gid = read_attachment(sample.attachment)
        gids.add(gid)
        assert number == count, (number, count)
        text = decode_string(sample.payload.to_bytes())
        publisher.put(encode_string(text), attachment=attachment(count, peer.gid))
    assert len(gids) == 1, gids
    subscriber.undeclare()


def add(peer):
    asked = queue.Queue()
    queryable = peer.session.declare_queryable(key("/add_two_ints", ADD_TWO_INTS), asked.put, complete=True)
    peer.announce("SS", ("/add_two_ints", ADD_TWO_INTS))
    gids, numbers = set(), []
    while True:
        with asked.get(timeout=PATIENCE_S) as query:
            number, gid = read_attachment(query.attachment)
            gids.add(gid)
            numbers.append(number)
            payload = query.payload.to_bytes()
            assert payload[:4] == HEADER and len(payload) == 20, payload
            a, b = struct.unpack_from("<qq", payload, 4)
            query.reply(
                key("/add_two_ints", ADD_TWO_INTS),
                HEADER + struct.pack("<q", a + b),
                attachment=attachment(number, gid),
            )
            if a == b == 0:
                break
    assert len(gids) == 1 and numbers == list(range(1, len(numbers) + 1)), (gids, numbers)
    queryable.undeclare()


def call(peer):
    peer.announce("SC", ("/add_two_ints", ADD_TWO_INTS))
    peer.await_entity("SS", "/add_two_ints", ADD_TWO_INTS)

    def send(number, a, b):
        return peer.session.get(
            key("/add_two_ints", ADD_TWO_INTS),
            target=zenoh.QueryTarget.ALL_COMPLETE,
            consolidation=zenoh.ConsolidationMode.NONE,
            payload=HEADER + struct.pack("<qq", a, b),
            attachment=attachment(number, peer.gid),
            timeout=PATIENCE_S,
        )

    calls = [(number, send(number, number, 2**40)) for number in range(1, 11)]
    calls.append((11, send(11, 0, 0)))
    for number, replies in reversed(calls):
        sample = replies.recv().ok
        assert read_attachment(sample.attachment) == (number, peer.gid), sample.attachment
        payload = sample.payload.to_bytes()
        expected = 0 if number == 11 else number + 2**40
        assert payload == HEADER + struct.pack("<q", expected), payload


if __name__ == "__main__":
    part, endpoint = sys.argv[1:]
    peer = Peer(endpoint, f"python_{part}")
    {"echo": echo, "add": add, "call": call}[part](peer)
    # Stays until it is left: what it said last is to arrive.
    sys.stdin.read()
    peer.session.close()
