#!/usr/bin/env bash
# Builds and tests the executor for rclrs nodes. It compiles only with ROS 2, see ../r2r/ros.sh. Arguments are for Cargo: with a changed
# rclrs,
#   ./test.sh --features on-ready --config 'patch.crates-io.rclrs.path="/path/to/rclrs"'
# (Cargo then writes the patch into Cargo.lock; restore that file.)
set -euo pipefail
cd "$(dirname "$0")"
. ../r2r/ros.sh rclrs
if [ -n "${ROSPIN_TEST_ROS:-}" ]; then
    # The wheels have no Rust code of message packages.
    "$ros/bin/python" messages.py "$ros" target/ros action_msgs builtin_interfaces rcl_interfaces rosgraph_msgs service_msgs std_msgs \
        std_srvs test_msgs unique_identifier_msgs
    export AMENT_PREFIX_PATH="$PWD/target/ros:$AMENT_PREFIX_PATH" ROS_DISTRO="${ROS_DISTRO:-kilted}"
fi
cargo fmt --check
cargo clippy --all-targets "$@" -- -D warnings
RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -D warnings" cargo doc --no-deps "$@"
# Tests use the same topics, and examples print them.
cargo test "$@" -- --test-threads 1
