#!/usr/bin/env bash
# Runs the tests of crates with unsafe code under AddressSanitizer (with its leak check), and those of rospin-engine under
# ThreadSanitizer. They need a nightly toolchain; without one they are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "sanitizers: skipped: no nightly toolchain (rustup toolchain install nightly)"
    exit 0
fi

host="$(rustc +nightly -vV | sed -n 's/^host: //p')"
case "$host" in
x86_64-unknown-linux-gnu | aarch64-unknown-linux-gnu) ;;
*)
    echo "sanitizers: skipped: not supported on $host"
    exit 0
    ;;
esac

base="${CARGO_TARGET_DIR:-target}"

# --target, so that build scripts and macros are built without the sanitizer, and once for both.
sanitize() {
    local sanitizer="$1" flags="$2"
    shift 2
    printf '\n-- %s sanitizer\n' "$sanitizer"
    CARGO_TARGET_DIR="$base/sanitizers" CARGO_PROFILE_DEV_DEBUG=line-tables-only RUSTFLAGS="-Zsanitizer=$sanitizer $flags" \
        cargo +nightly test --target "$host" "$@"
}

# No fake stack frames, because one of the tests measures the stack.
export ASAN_OPTIONS="detect_stack_use_after_return=0 ${ASAN_OPTIONS:-}"
# Random programs. The tests in C have a sanitizer of their compiler's own.
ROSPIN_PROGRAMS=2000 sanitize address "" -p rospin-ffi --test random
# It keeps freed memory for a while, so the test that measures memory is left out.
sanitize address "" -p rospin-engine -p rospin-remote --lib --tests -- --skip requests_leave_nothing_behind

# The standard library is not instrumented, which the flag allows. So ThreadSanitizer does not see the slow paths of its
# mutexes nor the fence in `Arc`, and reports races on the data that they protect. Therefore only code without them is tested: the
# unit tests of the lock-free data structures, on a single thread of the test harness. Messages are shared by `Arc` alone. The
# futex of other systems has such a mutex.
export TSAN_OPTIONS="suppressions=$PWD/.ci/tsan-suppressions.txt ${TSAN_OPTIONS:-}"
sanitize thread "-Cunsafe-allow-abi-mismatch=sanitizer" -p rospin-engine --lib -- lock_free --skip portable_futex --test-threads=1
