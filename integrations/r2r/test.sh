#!/usr/bin/env bash
# Builds and tests the executor for R2R nodes. It compiles only with ROS 2, see ros.sh, and needs libclang.
set -euo pipefail
cd "$(dirname "$0")"
. ./ros.sh R2R
# R2R 0.9.7 does not know Kilted, and takes its functions from the headers that are there.
if [ "${ROS_DISTRO:-kilted}" = kilted ]; then
    export ROS_DISTRO=jazzy
fi
# R2R generates Rust code for all messages that it finds, unless it is told which packages are wanted.
export IDL_PACKAGE_FILTER="${IDL_PACKAGE_FILTER-std_msgs;std_srvs;test_msgs;rcl_interfaces;builtin_interfaces;action_msgs;unique_identifier_msgs;service_msgs;rosgraph_msgs}"
cargo fmt --check
cargo clippy --all-targets -- -D warnings
RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -D warnings" cargo doc --no-deps
# Tests use the same topics, and examples print them.
cargo test -- --test-threads 1
