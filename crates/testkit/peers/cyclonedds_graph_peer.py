"""A node of the ROS graph that shares no code with this crate: Eclipse Cyclone DDS, with ROS 2's topic for nodes.

Usage: cyclonedds_graph_peer.py node|victim DOMAIN_ID

- node: is the node `/robot/talker` with a publisher of `chatter`, until it has seen the node `/observer` for a second.
- victim: is the same, until it is killed.
"""

import sys
import time
from dataclasses import dataclass

from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication, BuiltinTopicDcpsSubscription
from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, sequence, uint8
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

PATIENCE_S = 40

LATCHED = (Policy.Reliability.Reliable(duration(milliseconds=100)), Policy.Durability.TransientLocal)


@dataclass
class String(IdlStruct, typename="std_msgs::msg::dds_::String_"):
    data: str


@dataclass
class Gid(IdlStruct, typename="rmw_dds_common::msg::dds_::Gid_"):
    data: array[uint8, 16]


@dataclass
class NodeEntitiesInfo(IdlStruct, typename="rmw_dds_common::msg::dds_::NodeEntitiesInfo_"):
    node_namespace: str
    node_name: str
    reader_gid_seq: sequence[Gid]
    writer_gid_seq: sequence[Gid]


@dataclass
class ParticipantEntitiesInfo(IdlStruct, typename="rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_"):
    gid: Gid
    node_entities_info_seq: sequence[NodeEntitiesInfo]


def gid(entity):
    return Gid(list(entity.guid.bytes))


def check_type_hashes(participant):
    """Each end of the nodes' topic has the hash of its type, or every process on rmw_cyclonedds_cpp warns."""
    for builtin in (BuiltinTopicDcpsPublication, BuiltinTopicDcpsSubscription):
        found = [end for end in BuiltinDataReader(participant, builtin).take(N=1000)]
        ends = [end for end in found if end.topic_name == "ros_discovery_info" and end.participant_key != participant.guid]
        assert ends, "nobody else is on ros_discovery_info"
        for end in ends:
            data = end.qos[Policy.Userdata].data if Policy.Userdata in end.qos else b""
            assert data.startswith(b"typehash=RIHS01_"), data


def main(part, domain_id):
    assert part in ("node", "victim"), part
    participant = DomainParticipant(domain_id)
    chatter = DataWriter(
        participant,
        Topic(participant, "rt/chatter", String),
        qos=Qos(
            Policy.Reliability.Reliable(duration(milliseconds=100)),
            Policy.Userdata(b"typehash=RIHS01_" + 64 * b"7" + b";"),
        ),
    )
    topic = Topic(participant, "ros_discovery_info", ParticipantEntitiesInfo)
    says = DataWriter(participant, topic, qos=Qos(*LATCHED, Policy.History.KeepLast(1)))
    hears = DataReader(participant, topic, qos=Qos(*LATCHED, Policy.History.KeepAll))
    says.write(
        ParticipantEntitiesInfo(gid(participant), [NodeEntitiesInfo("/robot", "talker", [], [gid(chatter)])])
    )
    deadline = time.monotonic() + PATIENCE_S
    while True:
        names = [
            (node.node_namespace, node.node_name)
            for said in hears.take(N=10)
            for node in said.node_entities_info_seq
        ]
        if ("/", "observer") in names:
            break
        assert time.monotonic() < deadline, "the observer is not seen"
        time.sleep(0.01)
    if part == "node":
        check_type_hashes(participant)
    time.sleep(1 if part == "node" else PATIENCE_S)


main(sys.argv[1], int(sys.argv[2]))
