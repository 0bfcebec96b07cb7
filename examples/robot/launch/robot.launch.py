"""The robot in three processes, where colcon installed it: `ros2 launch robot robot.launch.py`."""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch_ros.actions import Node


def generate_launch_description():
    deployment = str(Path(get_package_share_directory("robot")) / "deployment.toml")

    def part(name):
        environment = {"ROSPIN_DEPLOYMENT": deployment}
        return Node(package="robot", executable="robot", arguments=[name], additional_env=environment, output="screen")

    return LaunchDescription([part("sensors"), part("perception"), part("control")])
