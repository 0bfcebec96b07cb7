# Sets up ROS 2 for test.sh, here and of integrations/rclrs, which source this file. The first argument is what needs ROS 2.
# ROS 2 is the Python environment in the folder ROSPIN_TEST_ROS, with the wheels that CONTRIBUTING.md names, or else what is sourced. Without
# either, the test is skipped, unless ROSPIN_TEST_REQUIRE_ROS=1 makes that a failure.
if [ -n "${ROSPIN_TEST_ROS:-}" ]; then
    ros=$(cd "$ROSPIN_TEST_ROS" && pwd)
    export AMENT_PREFIX_PATH="$ros"
    # Some of the wheels' libraries refer to Python without naming it, so programs are linked against it.
    read -r python_folder python_library < <("$ros/bin/python" -c \
        'from sysconfig import get_config_var as of; print(of("LIBDIR"), of("INSTSONAME"))')
    # Other libraries that the wheels bring are in folders of their own.
    bundled=$(printf '%s:' "$ros"/lib/python3.*/site-packages/*.libs)
    export LD_LIBRARY_PATH="$ros/lib:$bundled$python_folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    # The package libclang brings no headers of the compiler's own.
    libclang=$(printf '%s' "$ros"/lib/python3.*/site-packages/clang/native)
    if [ -e "$libclang/libclang.so" ]; then
        export LIBCLANG_PATH="$libclang" BINDGEN_EXTRA_CLANG_ARGS="-isystem $(cc -print-file-name=include)"
    fi
    # The wheels know only one middleware, and have no library that chooses one. Programs are linked against that middleware in its place.
    mkdir -p target/ros
    ln -sfn "$ros/lib/librmw_fastrtps_cpp.so" target/ros/librmw_implementation.so
    link="-L native=$PWD/target/ros -C link-arg=-Wl,--allow-shlib-undefined,--no-as-needed,$python_folder/$python_library"
    export RUSTFLAGS="${RUSTFLAGS:-} $link" RUSTDOCFLAGS="${RUSTDOCFLAGS:-} $link"
elif [ -z "${AMENT_PREFIX_PATH:-}" ]; then
    echo "SKIPPED: $1 needs ROS 2: source one (AMENT_PREFIX_PATH), or name a Python environment that has it (ROSPIN_TEST_ROS)"
    exit "${ROSPIN_TEST_REQUIRE_ROS:-0}"
fi
export ROS_AUTOMATIC_DISCOVERY_RANGE="${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}"
