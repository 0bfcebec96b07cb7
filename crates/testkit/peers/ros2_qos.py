"""A node of ROS 2 that prints the events of a subscription to `ours` and of a best-effort publisher of `theirs`, a line each."""

import rclpy
from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.qos import QoSLivelinessPolicy, QoSProfile, QoSReliabilityPolicy
from std_msgs.msg import String


def say(*words):
    print(*words, flush=True)


rclpy.init()
node = rclpy.create_node("theirs")
requested = QoSProfile(
    depth=10,
    deadline=Duration(seconds=0.2),
    liveliness=QoSLivelinessPolicy.MANUAL_BY_TOPIC,
    liveliness_lease_duration=Duration(seconds=0.6),
)
told = SubscriptionEventCallbacks(
    deadline=lambda event: say("deadline", event.total_count),
    liveliness=lambda event: say("liveliness", event.alive_count, event.not_alive_count),
    matched=lambda event: say("matched", event.current_count),
)
subscription = node.create_subscription(
    String, "ours", lambda message: say("heard", message.data), requested, event_callbacks=told
)
refused = PublisherEventCallbacks(incompatible_qos=lambda event: say("incompatible", event.total_count))
offered = QoSProfile(depth=10, reliability=QoSReliabilityPolicy.BEST_EFFORT, deadline=Duration(seconds=0.2))
publisher = node.create_publisher(String, "theirs", offered, event_callbacks=refused)
say("ready")
rclpy.spin(node)
