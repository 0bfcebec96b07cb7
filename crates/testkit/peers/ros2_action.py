"""An action server or client of ROS 2: ros2_action.py serve|ask.

- serve: serves `fibonacci`, with feedback of each number. Goals of a negative order are rejected.
- ask: asks for the first numbers, with feedback, then for so many that it cancels, and then for what is rejected.
"""

import sys
import time

import rclpy
from action_msgs.msg import GoalStatus
from example_interfaces.action import Fibonacci
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor


def serve(node):
    def execute(goal):
        numbers = [0, 1]
        for n in range(1, goal.request.order):
            if goal.is_cancel_requested:
                goal.canceled()
                return Fibonacci.Result(sequence=numbers)
            numbers.append(numbers[n] + numbers[n - 1])
            goal.publish_feedback(Fibonacci.Feedback(sequence=numbers))
            time.sleep(0.1)
        goal.succeed()
        return Fibonacci.Result(sequence=numbers)

    server = ActionServer(
        node,
        Fibonacci,
        "fibonacci",
        execute,
        callback_group=ReentrantCallbackGroup(),
        goal_callback=lambda goal: GoalResponse.REJECT if goal.order < 0 else GoalResponse.ACCEPT,
        cancel_callback=lambda _: CancelResponse.ACCEPT,
    )
    rclpy.spin(node, MultiThreadedExecutor(4))
    server.destroy()


def ask(node):
    def wait(future):
        rclpy.spin_until_future_complete(node, future)
        return future.result()

    client = ActionClient(node, Fibonacci, "fibonacci")
    client.wait_for_server()
    heard = []
    hear = lambda message: heard.append(list(message.feedback.sequence))
    goal = wait(client.send_goal_async(Fibonacci.Goal(order=6), hear))
    outcome = wait(goal.get_result_async())
    assert outcome.status == GoalStatus.STATUS_SUCCEEDED, outcome
    assert list(outcome.result.sequence) == [0, 1, 1, 2, 3, 5, 8], outcome
    assert heard[-1] == [0, 1, 1, 2, 3, 5, 8], heard

    goal = wait(client.send_goal_async(Fibonacci.Goal(order=40)))
    assert len(wait(goal.cancel_goal_async()).goals_canceling) == 1
    assert wait(goal.get_result_async()).status == GoalStatus.STATUS_CANCELED
    assert not wait(client.send_goal_async(Fibonacci.Goal(order=-1))).accepted


rclpy.init()
{"serve": serve, "ask": ask}[sys.argv[1]](rclpy.create_node("theirs"))
