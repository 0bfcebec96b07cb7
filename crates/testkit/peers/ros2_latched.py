"""A node of ROS 2 that latches a message on `theirs`, and prints what was latched on `ours`."""

import rclpy
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from std_msgs.msg import String

rclpy.init()
node = rclpy.create_node("theirs")
latched = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
publisher = node.create_publisher(String, "theirs", latched)
publisher.publish(String(data="their map"))
subscription = node.create_subscription(String, "ours", lambda message: print("heard", message.data, flush=True), latched)
rclpy.spin(node)
