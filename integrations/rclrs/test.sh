#!/usr/bin/env bash
# Builds and tests the executor for rclrs nodes. It compiles only where ROS 2 is sourced. Arguments are for Cargo: with a changed rclrs,
#   ./test.sh --features on-ready --config 'patch.crates-io.rclrs.path="/path/to/rclrs"'
# (Cargo then writes the patch into Cargo.lock; restore that file.)
set -euo pipefail
cd "$(dirname "$0")"
if [ -z "${AMENT_PREFIX_PATH:-}" ]; then
    echo "SKIPPED: rclrs needs a sourced ROS 2 (AMENT_PREFIX_PATH is not set)"
    exit 0
fi
export ROS_AUTOMATIC_DISCOVERY_RANGE="${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}"
cargo fmt --check
cargo clippy --all-targets "$@" -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps "$@"
# Tests use the same topics, and examples print them.
cargo test "$@" -- --test-threads 1
