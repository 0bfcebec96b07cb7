"""Nodes of ROS 2 under rclpy, for the tests of the adapters. Needs no more than rclpy with std_msgs, std_srvs and test_msgs.

- rclpy_peer.py serve: a node `theirs` and a managed node `managed`, which serve everything until standard input ends.
- rclpy_peer.py ask PART..: uses these parts of the nodes `ours` and `managed`, and prints a line `PART yes` or `PART no: reason`.
- rclpy_peer.py call COUNT NAME: calls the service `echo` so often, four calls at a time, and checks each answer.
- rclpy_peer.py first COUNT: for each of so many new clients, waits for the service `echo` and calls it once.
- rclpy_peer.py list: prints the parameters of all other nodes, and how long that took in seconds.
- rclpy_peer.py tick COUNT: publishes so many numbered messages at 1 kHz on `ticks` as soon as it is heard, and one of 1 MiB and one
  of 10 MiB, and stays until standard input ends.
- rclpy_peer.py count: prints how many messages it heard on `ticks`, and the longest length, when standard input ends.
- rclpy_peer.py events: serves `theirs`, calls `ours` ten times a second, both with service introspection, and prints the events of
  `ours` as `event TYPE GID NUMBER CONTENTS`, until standard input ends.
- rclpy_peer.py ends: prints the nodes of the publishers of `out` and of the subscriptions of `in`, as `end KIND NODE`.
"""

import sys
import threading
import time
import traceback

import rclpy
from action_msgs.msg import GoalStatus
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.service_introspection import ServiceIntrospectionState
from std_msgs.msg import String
from std_srvs.srv import SetBool
from test_msgs.action import Fibonacci
from type_description_interfaces.srv import GetTypeDescription

PATIENCE = 30.0
# Orders of goals: one that is executed until it is canceled, and one whose cancellation is refused.
ENDLESS, STUBBORN = 40, 41
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Managed(LifecycleNode):
    def on_configure(self, state):
        return TransitionCallbackReturn.SUCCESS


def echo(request, response):
    response.values = [ParameterValue(type=4, string_value=name) for name in request.names]
    return response


def execute(goal):
    numbers = [0, 1]
    order = goal.request.order
    for n in range(1, order):
        if goal.is_cancel_requested:
            goal.canceled()
            return Fibonacci.Result(sequence=numbers)
        numbers.append((numbers[n] + numbers[n - 1]) % 1000)
        goal.publish_feedback(Fibonacci.Feedback(sequence=numbers))
        time.sleep(0.02)
        while order == ENDLESS and not goal.is_cancel_requested:
            time.sleep(0.02)
    goal.succeed()
    return Fibonacci.Result(sequence=numbers)


def serve():
    node, managed = rclpy.create_node("theirs"), Managed("managed")
    group = ReentrantCallbackGroup()
    node.declare_parameter("speed", 1)
    node.create_service(GetParameters, "echo", echo, callback_group=group)
    node.create_service(SetBool, "set", lambda request, response: SetBool.Response(success=request.data, message="done"))
    latched = node.create_publisher(String, "latched", LATCHED)
    latched.publish(String(data="theirs"))
    out = node.create_publisher(String, "out", 10)
    node.create_subscription(String, "in", lambda message: out.publish(message), 10)
    ActionServer(
        node,
        Fibonacci,
        "fibonacci",
        execute,
        callback_group=group,
        goal_callback=lambda goal: GoalResponse.REJECT if goal.order < 0 else GoalResponse.ACCEPT,
        cancel_callback=lambda goal: CancelResponse.REJECT if goal.request.order == STUBBORN else CancelResponse.ACCEPT,
    )
    executor = MultiThreadedExecutor(8)
    executor.add_node(node)
    executor.add_node(managed)
    threading.Thread(target=until_the_end, daemon=True).start()
    print("serving", flush=True)
    try:
        executor.spin()
    except ExternalShutdownException:
        pass


def until_the_end():
    sys.stdin.read()
    rclpy.shutdown()


def wait(node, future, what):
    rclpy.spin_until_future_complete(node, future, timeout_sec=PATIENCE)
    assert future.done(), f"{what}: no answer"
    return future.result()


def call(node, kind, name, request):
    client = node.create_client(kind, name)
    assert client.wait_for_service(PATIENCE), f"{name} is not there"
    answer = wait(node, client.call_async(request), name)
    node.destroy_client(client)
    return answer


def spin_until(node, is_so, what):
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, what
        rclpy.spin_once(node, timeout_sec=0.05)


def ask_topic(node):
    heard = []
    subscription = node.create_subscription(String, "out", lambda message: heard.append(message.data), 10)
    publisher = node.create_publisher(String, "in", 10)
    spin_until(node, lambda: publisher.get_subscription_count() and subscription.get_publisher_count(), "no match")
    # A match is known to both ends at different moments.
    while "hello" not in heard:
        publisher.publish(String(data="hello"))
        spin_until(node, lambda: True, "")
        rclpy.spin_once(node, timeout_sec=0.2)


def ask_service(node):
    answer = call(node, SetBool, "set", SetBool.Request(data=True))
    assert (answer.success, answer.message) == (True, "done"), answer
    for length in (0, 1, 5, 1_000_000, 10_000_000):
        name = "x" * length
        answer = call(node, GetParameters, "echo", GetParameters.Request(names=[name]))
        assert [value.string_value for value in answer.values] == [name], length


def action_client(node):
    client = ActionClient(node, Fibonacci, "fibonacci")
    assert client.wait_for_server(PATIENCE), "no action server"
    return client


def ask_action(node):
    client, heard = action_client(node), []
    hear = lambda message: heard.append(list(message.feedback.sequence))
    goal = wait(node, client.send_goal_async(Fibonacci.Goal(order=6), hear), "goal")
    outcome = wait(node, goal.get_result_async(), "result")
    assert outcome.status == GoalStatus.STATUS_SUCCEEDED, outcome
    assert list(outcome.result.sequence) == [0, 1, 1, 2, 3, 5, 8], outcome
    spin_until(node, lambda: heard and heard[-1] == [0, 1, 1, 2, 3, 5, 8], f"feedback: {heard}")


def ask_cancel(node):
    client = action_client(node)
    goal = wait(node, client.send_goal_async(Fibonacci.Goal(order=ENDLESS)), "goal")
    assert len(wait(node, goal.cancel_goal_async(), "cancel").goals_canceling) == 1
    assert wait(node, goal.get_result_async(), "result").status == GoalStatus.STATUS_CANCELED


def ask_reject(node):
    client = action_client(node)
    assert not wait(node, client.send_goal_async(Fibonacci.Goal(order=-1)), "goal").accepted
    goal = wait(node, client.send_goal_async(Fibonacci.Goal(order=STUBBORN)), "goal")
    assert not wait(node, goal.cancel_goal_async(), "cancel").goals_canceling
    assert wait(node, goal.get_result_async(), "result").status == GoalStatus.STATUS_SUCCEEDED


def ask_parameters(node):
    client = AsyncParameterClient(node, "ours")
    assert client.wait_for_services(PATIENCE), "no parameter services"
    assert "speed" in wait(node, client.list_parameters([], 0), "list").result.names
    assert wait(node, client.get_parameters(["speed"]), "get").values[0].integer_value == 1
    assert wait(node, client.set_parameters([Parameter("speed", value=7)]), "set").results[0].successful
    assert wait(node, client.get_parameters(["speed"]), "get").values[0].integer_value == 7
    assert not wait(node, client.set_parameters([Parameter("speed", value="fast")]), "set").results[0].successful
    assert wait(node, client.describe_parameters(["speed"]), "describe").descriptors[0].name == "speed"


def ask_lifecycle(node):
    state = lambda: call(node, GetState, "managed/get_state", GetState.Request()).current_state.label
    assert state() == "unconfigured", state()
    request = ChangeState.Request()
    request.transition.label = "configure"
    request.transition.id = 1
    assert call(node, ChangeState, "managed/change_state", request).success
    assert state() == "inactive", state()


def ask_latched(node):
    heard = []
    node.create_subscription(String, "latched", lambda message: heard.append(message.data), LATCHED)
    spin_until(node, lambda: heard == ["ours"], f"latched: {heard}")


def ask_description(node):
    spin_until(node, lambda: node.get_publishers_info_by_topic("/out"), "nobody publishes /out")
    endpoint = node.get_publishers_info_by_topic("/out")[0]
    request = GetTypeDescription.Request(type_name="std_msgs/msg/String", type_hash=str(endpoint.topic_type_hash))
    answer = call(node, GetTypeDescription, "ours/get_type_description", request)
    assert answer.successful, answer.failure_reason
    assert answer.type_description.type_description.type_name == "std_msgs/msg/String", answer
    assert [field.name for field in answer.type_description.type_description.fields] == ["data"], answer


def ask(*parts):
    for part in parts:
        node = rclpy.create_node(f"asks_{part}")
        try:
            globals()[f"ask_{part}"](node)
            print(f"{part} yes", flush=True)
        except Exception as error:
            reason = traceback.format_exc().strip().splitlines()
            print(f"{part} no: {error!r} {reason[-3:]}", flush=True)
        node.destroy_node()


def call_often(count, name):
    node = rclpy.create_node(f"caller_{name}")
    # Every client gets all responses of a server, and keeps the last 10 unless it is told otherwise: with many clients, its own
    # would be displaced, whoever serves.
    client = node.create_client(GetParameters, "echo", qos_profile=QoSProfile(depth=1000))
    assert client.wait_for_service(PATIENCE), "no service"
    for begin in range(0, int(count), 4):
        asked = [[f"{name}/{n}"] for n in range(begin, min(begin + 4, int(count)))]
        futures = [client.call_async(GetParameters.Request(names=names)) for names in asked]
        for names, future in zip(asked, futures):
            answer = wait(node, future, names[0])
            assert [value.string_value for value in answer.values] == names, (names, answer)


def first(count):
    for n in range(int(count)):
        node = rclpy.create_node(f"first_{n}")
        client = node.create_client(GetParameters, "echo")
        assert client.wait_for_service(PATIENCE), "no service"
        begin = time.monotonic()
        answer = wait(node, client.call_async(GetParameters.Request(names=[str(n)])), f"first call {n}")
        assert answer.values[0].string_value == str(n)
        print(f"first {n} {(time.monotonic() - begin) * 1000:.1f} ms", flush=True)
        node.destroy_node()


def list_parameters():
    node = rclpy.create_node("lister")
    other = lambda name: name not in ("lister",)
    spin_until(node, lambda: {"ours", "theirs"} <= {name for name, _ in node.get_node_names_and_namespaces()}, "nodes")
    names = [name for name, _ in node.get_node_names_and_namespaces() if other(name)]
    clients = {name: node.create_client(ListParameters, f"{name}/list_parameters") for name in names}
    for name, client in clients.items():
        assert client.wait_for_service(PATIENCE), name
    begin = time.monotonic()
    futures = {name: client.call_async(ListParameters.Request()) for name, client in clients.items()}
    for name, future in futures.items():
        found = wait(node, future, name).result.names
        print(f"{name}: {', '.join(sorted(found))}")
    print(f"listed in {time.monotonic() - begin:.3f}", flush=True)


def count():
    node, lengths = rclpy.create_node("counter"), []
    node.create_subscription(String, "ticks", lambda message: lengths.append(len(message.data)), 1000)
    threading.Thread(target=until_the_end, daemon=True).start()
    print("counting", flush=True)
    try:
        rclpy.spin(node, SingleThreadedExecutor())
    except ExternalShutdownException:
        pass
    print(f"heard {len(lengths)} {max(lengths, default=0)}", flush=True)


def tick(count):
    node = rclpy.create_node("ticker")
    publisher = node.create_publisher(String, "ticks", QoSProfile(depth=1000))
    spin_until(node, lambda: publisher.get_subscription_count(), "nobody hears")
    for n in range(int(count)):
        publisher.publish(String(data=str(n)))
        time.sleep(0.001)
    for size in (1 << 20, 10 << 20):
        publisher.publish(String(data="x" * size))
        time.sleep(0.2)
    sys.stdin.read()


def ends():
    node = rclpy.create_node("looker")
    found = lambda: node.get_publishers_info_by_topic("/out") + node.get_subscriptions_info_by_topic("/in")
    spin_until(node, lambda: len(found()) == 2, "one of the two is missing")
    # Nodes are told after their publishers and subscriptions.
    end = time.monotonic() + 3
    while any(info.node_name.startswith("_") for info in found()) and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.05)
    for info in found():
        print("end", info.endpoint_type.name, info.node_namespace.rstrip("/") + "/" + info.node_name, flush=True)


def events():
    node = rclpy.create_node("theirs")
    answer = lambda request, response: SetBool.Response(success=request.data, message="done")
    server = node.create_service(SetBool, "theirs", answer)
    client = node.create_client(SetBool, "ours")
    for end in (server, client):
        end.configure_introspection(node.get_clock(), QoSProfile(depth=100), ServiceIntrospectionState.CONTENTS)

    def tell(event):
        contents = [entry.data for entry in event.request] + [entry.message for entry in event.response]
        gid = bytes(event.info.client_gid).hex()
        print("event", event.info.event_type, gid, event.info.sequence_number, *contents, flush=True)

    node.create_subscription(SetBool.Event, "ours/_service_event", tell, 100)
    node.create_timer(0.1, lambda: client.service_is_ready() and client.call_async(SetBool.Request(data=True)))
    threading.Thread(target=until_the_end, daemon=True).start()
    print("telling", flush=True)
    try:
        rclpy.spin(node, SingleThreadedExecutor())
    except ExternalShutdownException:
        pass


rclpy.init()
PARTS = {
    "serve": serve,
    "ask": ask,
    "call": call_often,
    "first": first,
    "list": list_parameters,
    "count": count,
    "tick": tick,
    "events": events,
    "ends": ends,
}
PARTS[sys.argv[1]](*sys.argv[2:])
