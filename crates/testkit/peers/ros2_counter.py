"""A node of ROS 2 that ends after COUNT messages on `chatter`, each of LENGTH characters: ros2_counter.py LENGTH COUNT."""

import sys

import rclpy
from std_msgs.msg import String

length, left = int(sys.argv[1]), int(sys.argv[2])
rclpy.init()
node = rclpy.create_node("counter")


def hear(message):
    global left
    assert len(message.data) == length
    left -= 1
    if left == 0:
        sys.exit(0)


subscription = node.create_subscription(String, "chatter", hear, 1000)
rclpy.spin(node)
