"""The robot in three processes, for `ros2 launch`."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import LaunchConfiguration

TARGET = Path(__file__).resolve().parents[2] / "target" / "debug"


def generate_launch_description():
    folder = DeclareLaunchArgument("folder", default_value=str(TARGET), description="where cargo built the programs")
    program = [LaunchConfiguration("folder"), "/robot"]
    parts = ["sensors", "perception", "control"]
    return LaunchDescription([folder, *(ExecuteProcess(cmd=[program, part], name=part) for part in parts)])
