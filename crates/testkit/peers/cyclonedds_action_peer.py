"""An action server and an action client that share no code with this crate: Eclipse Cyclone DDS, with ROS 2's names.

Usage: cyclonedds_action_peer.py serve|ask DOMAIN_ID

- serve: serves `fibonacci` as rmw_cyclonedds_cpp does, until a goal of order 0 was asked for and its result sent.
- ask: asks for the first numbers, with feedback, and then for so many that it cancels; ends with a goal of order 0.
"""

import sys
import time
from dataclasses import dataclass

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, int8, int32, int64, sequence, uint8, uint32
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

# Shorter than that of the tests, so that the peer says what it waited for.
PATIENCE_S = 30
QOS = Qos(Policy.Reliability.Reliable(duration(milliseconds=100)), Policy.History.KeepLast(100))
LATCHED = QOS + Qos(Policy.Durability.TransientLocal)

EXECUTING, SUCCEEDED, CANCELED = 2, 4, 5
GOAL_TERMINATED = 3

FIBONACCI = "example_interfaces::action::dds_::Fibonacci_"


@dataclass
class Time(IdlStruct, typename="builtin_interfaces::msg::dds_::Time_"):
    sec: int32
    nanosec: uint32


@dataclass
class GoalInfo(IdlStruct, typename="action_msgs::msg::dds_::GoalInfo_"):
    goal_id: array[uint8, 16]
    stamp: Time


@dataclass
class GoalStatus(IdlStruct, typename="action_msgs::msg::dds_::GoalStatus_"):
    goal_info: GoalInfo
    status: int8


@dataclass
class GoalStatusArray(IdlStruct, typename="action_msgs::msg::dds_::GoalStatusArray_"):
    status_list: sequence[GoalStatus]


@dataclass
class SendGoalRequest(IdlStruct, typename=FIBONACCI + "SendGoal_Request_"):
    client: array[uint8, 8]
    number: int64
    goal_id: array[uint8, 16]
    order: int32


@dataclass
class SendGoalResponse(IdlStruct, typename=FIBONACCI + "SendGoal_Response_"):
    client: array[uint8, 8]
    number: int64
    accepted: bool
    stamp: Time


@dataclass
class GetResultRequest(IdlStruct, typename=FIBONACCI + "GetResult_Request_"):
    client: array[uint8, 8]
    number: int64
    goal_id: array[uint8, 16]


@dataclass
class GetResultResponse(IdlStruct, typename=FIBONACCI + "GetResult_Response_"):
    client: array[uint8, 8]
    number: int64
    status: int8
    sequence: sequence[int32]


@dataclass
class CancelRequest(IdlStruct, typename="action_msgs::srv::dds_::CancelGoal_Request_"):
    client: array[uint8, 8]
    number: int64
    goal_info: GoalInfo


@dataclass
class CancelResponse(IdlStruct, typename="action_msgs::srv::dds_::CancelGoal_Response_"):
    client: array[uint8, 8]
    number: int64
    return_code: int8
    goals_canceling: sequence[GoalInfo]


@dataclass
class Feedback(IdlStruct, typename=FIBONACCI + "FeedbackMessage_"):
    goal_id: array[uint8, 16]
    sequence: sequence[int32]


SERVICES = {
    "send_goal": (SendGoalRequest, SendGoalResponse),
    "get_result": (GetResultRequest, GetResultResponse),
    "cancel_goal": (CancelRequest, CancelResponse),
}


def within(seconds, condition):
    """Returns the condition's value as soon as it is true, or the last one when the time is over."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.002)
    return value


def wait_until(what, condition):
    """Returns the condition's value as soon as it is true."""
    return within(PATIENCE_S, condition) or sys.exit(f"the peer's patience is over: waiting until {what}")


class Peer:
    def __init__(self, domain_id):
        self.participant = DomainParticipant(domain_id)

    def reader(self, name, idl, qos=QOS):
        return DataReader(self.participant, Topic(self.participant, name, idl), qos=qos)

    def writer(self, name, idl, qos=QOS):
        return DataWriter(self.participant, Topic(self.participant, name, idl), qos=qos)


def serve(domain_id):
    peer = Peer(domain_id)
    requests, responses = {}, {}
    for name, (request, response) in SERVICES.items():
        requests[name] = peer.reader(f"rq/fibonacci/_action/{name}Request", request)
        responses[name] = peer.writer(f"rr/fibonacci/_action/{name}Reply", response)
    feedback = peer.writer("rt/fibonacci/_action/feedback", Feedback)
    status = peer.writer("rt/fibonacci/_action/status", GoalStatusArray, LATCHED)
    goals = {}

    def tell():
        infos = [GoalStatus(GoalInfo(list(id), Time(1, 0)), state) for id, (state, _) in goals.items()]
        status.write(GoalStatusArray(infos))

    def answer(name):
        for request in requests[name].take(N=100):
            head = {"client": request.client, "number": request.number}
            if name == "send_goal":
                id, numbers = bytes(request.goal_id), [0, 1]
                while len(numbers) <= request.order:
                    numbers.append(numbers[-1] + numbers[-2])
                responses[name].write(SendGoalResponse(**head, accepted=True, stamp=Time(1, 0)))
                # A goal of order 40 goes on until it is canceled.
                goals[id] = (EXECUTING if request.order == 40 else SUCCEEDED, numbers)
                feedback.write(Feedback(list(id), numbers[:3]))
                tell()
            elif name == "cancel_goal":
                id = bytes(request.goal_info.goal_id)
                goals[id] = (CANCELED, goals[id][1][:3])
                responses[name].write(CancelResponse(**head, return_code=0, goals_canceling=[request.goal_info]))
                tell()
            else:
                waiting.append((head, bytes(request.goal_id)))

    waiting = []
    sent = set()
    while True:
        for name in SERVICES:
            answer(name)
        for head, id in [(head, id) for head, id in waiting if goals[id][0] != EXECUTING]:
            waiting.remove((head, id))
            state, numbers = goals[id]
            responses["get_result"].write(GetResultResponse(**head, status=state, sequence=numbers))
            sent.add(id)
        if any(len(goals[id][1]) == 2 for id in sent):
            responses["get_result"].wait_for_acks(duration(seconds=10))
            wait_until("the client is gone", lambda: not responses["get_result"].get_matched_subscriptions())
            return
        time.sleep(0.002)


def ask(domain_id):
    peer = Peer(domain_id)
    requests, responses = {}, {}
    for name, (request, response) in SERVICES.items():
        responses[name] = peer.reader(f"rr/fibonacci/_action/{name}Reply", response)
        requests[name] = peer.writer(f"rq/fibonacci/_action/{name}Request", request)
    feedback = peer.reader("rt/fibonacci/_action/feedback", Feedback)
    status = peer.reader("rt/fibonacci/_action/status", GoalStatusArray, LATCHED)
    ends = [*requests.values(), *responses.values()]
    matched = lambda end: end.get_matched_subscriptions() if isinstance(end, DataWriter) else end.get_matched_publications()
    wait_until("the server is matched", lambda: all(matched(end) for end in ends) and matched(feedback) and matched(status))
    client = [ord(letter) for letter in "a client"]
    number = 0

    def call(name, **body):
        """Returns the response, or None if the server may not know this client yet, and so answers to nobody."""
        nonlocal number
        number += 1
        requests[name].write(SERVICES[name][0](client=client, number=number, **body))
        ours = lambda response: response.number == number and list(response.client) == client
        return within(2, lambda: next(filter(ours, responses[name].take(N=100)), None))

    def send_goal(id, order):
        return wait_until("the goal is answered", lambda: call("send_goal", goal_id=id, order=order))

    def result(id):
        return wait_until("the result comes", lambda: call("get_result", goal_id=id))

    ids = ([n] * 16 for n in range(1, 256))

    def reach_goal():
        """Returns true if the feedback of a goal has come, too: its writer may not know the reader yet."""
        id = next(ids)
        assert send_goal(id, 6).accepted
        outcome = result(id)
        assert (outcome.status, list(outcome.sequence)) == (SUCCEEDED, [0, 1, 1, 2, 3, 5, 8]), outcome
        whole = lambda partial: list(partial.goal_id) == id and len(partial.sequence) == 7
        return within(2, lambda: any(map(whole, feedback.take(N=100))))

    wait_until("the feedback comes", reach_goal)

    endless = next(ids)
    assert send_goal(endless, 40).accepted
    cancel = lambda: call("cancel_goal", goal_info=GoalInfo(endless, Time(0, 0)))
    # A request that is repeated may find the goal canceled.
    response, may_have_ended = cancel(), False
    if response is None:
        response, may_have_ended = wait_until("the goal is canceled", cancel), True
    canceling = [list(info.goal_id) for info in response.goals_canceling]
    has_ended = may_have_ended and response.return_code == GOAL_TERMINATED
    assert has_ended or (response.return_code, canceling) == (0, [endless]), response
    assert result(endless).status == CANCELED
    states = lambda: {status.status: True for array in status.take(N=100) for status in array.status_list}
    wait_until("the status comes", lambda: CANCELED in states())

    last = next(ids)
    assert not send_goal(last, -1).accepted
    requests["send_goal"].write(SendGoalRequest(client=client, number=number + 1, goal_id=last, order=0))
    requests["send_goal"].wait_for_acks(duration(seconds=10))
    wait_until("the server is gone", lambda: not requests["send_goal"].get_matched_subscriptions())


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](int(sys.argv[2]))
