"""A ROS 2 peer that shares no code with this crate: Eclipse Cyclone DDS, with ROS 2's names for topics and types.

Usage: cyclonedds_peer.py echo|image|add|call|lifecycle DOMAIN_ID

- echo: sends back on `rt/echo` what it hears on `rt/chatter`, until it hears "the end".
- image: sends back on `rt/image_echo` the images of `rt/image`, upside down, until one of no pixels comes.
- add: serves `add_two_ints` as rmw_cyclonedds_cpp does, until it is asked for a sum of zeros.
- call: calls `add_two_ints` as rmw_cyclonedds_cpp does, ten times, and then for a sum of zeros.
- lifecycle: brings the node `/device` up as `ros2 lifecycle` does, sees it go there, and shuts it down.
"""

import sys
import time
from dataclasses import dataclass

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, int32, int64, sequence, uint8, uint32, uint64
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

PATIENCE_S = 40

# The quality of service that rclcpp asks for unless told otherwise.
QOS = Qos(Policy.Reliability.Reliable(duration(milliseconds=100)), Policy.History.KeepLast(100))


@dataclass
class String(IdlStruct, typename="std_msgs::msg::dds_::String_"):
    data: str


@dataclass
class Time(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):
    sec: int32
    nanosec: uint32


@dataclass
class Header(IdlStruct, typename="std_msgs::msg::dds_::Header_"):
    stamp: Time
    frame_id: str


@dataclass
class Image(IdlStruct, typename="sensor_msgs::msg::dds_::Image_"):
    header: Header
    height: uint32
    width: uint32
    encoding: str
    is_bigendian: uint8
    step: uint32
    data: sequence[uint8]


# rmw_cyclonedds_cpp begins requests and responses with the client's id and the request's number.
@dataclass
class AddRequest(IdlStruct, typename="example_interfaces::srv::dds_::AddTwoInts_Request_"):
    client: array[uint8, 8]
    number: int64
    a: int64
    b: int64


@dataclass
class AddResponse(IdlStruct, typename="example_interfaces::srv::dds_::AddTwoInts_Response_"):
    client: array[uint8, 8]
    number: int64
    sum: int64


class Peer:
    """A participant with one reader and one writer."""

    def __init__(self, domain_id, reads, writes):
        self.participant = DomainParticipant(domain_id)
        self.writer = DataWriter(self.participant, Topic(self.participant, *writes), qos=QOS)
        self.reader = DataReader(self.participant, Topic(self.participant, *reads), qos=QOS)
        self.deadline = time.monotonic() + PATIENCE_S

    def wait_until_matched(self):
        while not (self.writer.get_matched_subscriptions() and self.reader.get_matched_publications()):
            self.pause()

    def take(self, within_s=PATIENCE_S):
        """What came, as soon as something came; nothing if that takes too long."""
        deadline = time.monotonic() + within_s
        while True:
            samples = self.reader.take(N=100)
            if samples or time.monotonic() > deadline:
                return samples
            self.pause()

    def stay_until_left(self):
        """A writer that goes at once may take with it what its readers have not handed on yet."""
        self.writer.wait_for_acks(duration(seconds=10))
        while self.writer.get_matched_subscriptions():
            self.pause()

    def pause(self):
        if time.monotonic() > self.deadline:
            sys.exit("the peer's patience is over")
        time.sleep(0.002)


def echo(domain_id):
    peer = Peer(domain_id, reads=("rt/chatter", String), writes=("rt/echo", String))
    peer.wait_until_matched()
    while True:
        for message in peer.take():
            peer.writer.write(String(data=message.data))
            if message.data == "the end":
                peer.stay_until_left()
                return


def image(domain_id):
    peer = Peer(domain_id, reads=("rt/image", Image), writes=("rt/image_echo", Image))
    peer.wait_until_matched()
    while True:
        for message in peer.take():
            message.data = bytes(message.data)[::-1]
            peer.writer.write(message)
            if message.height == 0:
                peer.stay_until_left()
                return


def add(domain_id):
    peer = Peer(
        domain_id, reads=("rq/add_two_intsRequest", AddRequest), writes=("rr/add_two_intsReply", AddResponse)
    )
    while True:
        for request in peer.take():
            peer.writer.write(AddResponse(client=request.client, number=request.number, sum=request.a + request.b))
            if request.a == request.b == 0:
                peer.stay_until_left()
                return


def call(domain_id):
    peer = Peer(
        domain_id, reads=("rr/add_two_intsReply", AddResponse), writes=("rq/add_two_intsRequest", AddRequest)
    )
    peer.wait_until_matched()
    client = [ord(letter) for letter in "a client"]
    for number in range(10):
        responses = []
        while not responses:
            # A server that does not know its client yet answers to nobody.
            peer.writer.write(AddRequest(client=client, number=number, a=number, b=30))
            responses = [response for response in peer.take(within_s=2) if response.number == number]
        for response in responses:
            assert (list(response.client), response.sum) == (client, number + 30), response
    peer.writer.write(AddRequest(client=client, number=number + 1, a=0, b=0))
    peer.stay_until_left()


@dataclass
class State(IdlStruct, typename="lifecycle_msgs::msg::dds_::State_"):
    id: uint8
    label: str


@dataclass
class Transition(IdlStruct, typename="lifecycle_msgs::msg::dds_::Transition_"):
    id: uint8
    label: str


@dataclass
class TransitionDescription(IdlStruct, typename="lifecycle_msgs::msg::dds_::TransitionDescription_"):
    transition: Transition
    start_state: State
    goal_state: State


@dataclass
class TransitionEvent(IdlStruct, typename="lifecycle_msgs::msg::dds_::TransitionEvent_"):
    timestamp: uint64
    transition: Transition
    start_state: State
    goal_state: State


@dataclass
class ChangeStateRequest(IdlStruct, typename="lifecycle_msgs::srv::dds_::ChangeState_Request_"):
    client: array[uint8, 8]
    number: int64
    transition: Transition


@dataclass
class ChangeStateResponse(IdlStruct, typename="lifecycle_msgs::srv::dds_::ChangeState_Response_"):
    client: array[uint8, 8]
    number: int64
    success: bool


@dataclass
class GetStateRequest(IdlStruct, typename="lifecycle_msgs::srv::dds_::GetState_Request_"):
    client: array[uint8, 8]
    number: int64
    structure_needs_at_least_one_member: uint8


@dataclass
class GetStateResponse(IdlStruct, typename="lifecycle_msgs::srv::dds_::GetState_Response_"):
    client: array[uint8, 8]
    number: int64
    current_state: State


@dataclass
class TransitionsRequest(IdlStruct, typename="lifecycle_msgs::srv::dds_::GetAvailableTransitions_Request_"):
    client: array[uint8, 8]
    number: int64
    structure_needs_at_least_one_member: uint8


@dataclass
class TransitionsResponse(IdlStruct, typename="lifecycle_msgs::srv::dds_::GetAvailableTransitions_Response_"):
    client: array[uint8, 8]
    number: int64
    available_transitions: sequence[TransitionDescription]


def service(domain_id, name, request, response):
    """A function that calls a service of `/device`."""
    peer = Peer(
        domain_id, reads=(f"rr/device/{name}Reply", response), writes=(f"rq/device/{name}Request", request)
    )
    peer.wait_until_matched()
    # The server may know the writer before it knows the reader.
    time.sleep(1)
    client = [ord(letter) for letter in "a client"]
    numbers = iter(range(1, 1000))

    def call(argument):
        number = next(numbers)
        peer.writer.write(request(client, number, argument))
        responses = [response for response in peer.take() if response.number == number]
        assert len(responses) == 1, responses
        return responses[0]

    return call


def lifecycle(domain_id):
    events = Peer(
        domain_id, reads=("rt/device/transition_event", TransitionEvent), writes=("rt/nobody_listens", String)
    )
    change = service(domain_id, "change_state", ChangeStateRequest, ChangeStateResponse)
    get = service(domain_id, "get_state", GetStateRequest, GetStateResponse)
    ways = service(domain_id, "get_available_transitions", TransitionsRequest, TransitionsResponse)
    graph = service(domain_id, "get_transition_graph", TransitionsRequest, TransitionsResponse)

    assert get(0).current_state == State(1, "unconfigured")
    assert not change(Transition(0, "activate")).success
    assert change(Transition(1, "")).success
    assert get(0).current_state == State(2, "inactive")
    found = [(way.transition.id, way.transition.label) for way in ways(0).available_transitions]
    assert found == [(2, "cleanup"), (3, "activate"), (6, "shutdown")], found
    assert len(graph(0).available_transitions) == 25
    assert change(Transition(0, "activate")).success
    heard = []
    while len(heard) < 4:
        heard += [(event.transition.id, event.goal_state.label) for event in events.take()]
    assert heard == [(1, "configuring"), (10, "inactive"), (3, "activating"), (30, "active")], heard
    assert change(Transition(7, "")).success


if __name__ == "__main__":
    {"echo": echo, "image": image, "add": add, "call": call, "lifecycle": lifecycle}[sys.argv[1]](int(sys.argv[2]))
