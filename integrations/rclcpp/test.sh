#!/usr/bin/env bash
# Builds and tests the executor for rclcpp nodes. It compiles only with rclcpp, which no Python environment has: source
# a ROS 2. Without one, the test is skipped, unless ROSPIN_TEST_REQUIRE_RCLCPP=1 makes that a failure.
set -euo pipefail
cd "$(dirname "$0")"
found=
IFS=: read -ra prefixes <<<"${AMENT_PREFIX_PATH:-}:${CMAKE_PREFIX_PATH:-}"
for prefix in "${prefixes[@]}"; do
    if [ -n "$prefix" ] && [ -e "$prefix/share/rclcpp/cmake/rclcppConfig.cmake" ]; then
        found="$prefix"
    fi
done
if [ -z "$found" ]; then
    echo "SKIPPED: the executor for C++ nodes needs rclcpp: source a ROS 2 that has it (AMENT_PREFIX_PATH)"
    exit "${ROSPIN_TEST_REQUIRE_RCLCPP:-0}"
fi
export ROS_AUTOMATIC_DISCOVERY_RANGE="${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}"
# It reads the recording of a test.
cargo build --package rospin-cli --manifest-path ../../Cargo.toml --target-dir ../../target
export ROSPIN_COMMAND="$PWD/../../target/debug/rospin"
build=target/test
# Warnings are errors here, and not for those who build the package.
cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS="-Werror ${CXXFLAGS:-}" -DBUILD_TESTING=ON \
    -DROSPIN_CARGO_PROFILE=dev -DROSPIN_CARGO_TARGET_DIR="$PWD/../../target"
cmake --build "$build" --parallel "$(nproc)"
# Programs use the same topics.
ctest --test-dir "$build" --output-on-failure --parallel 1
