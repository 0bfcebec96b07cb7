#!/usr/bin/env bash
# Checks every interleaving of the lock-free data structures (crates/engine/tests/loom.rs). Takes a minute or two.
set -euo pipefail
cd "$(dirname "$0")/.."

# More preemptions find more bugs and take much longer. 3 find every bug that was injected so far.
export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-3}"
# A target folder of its own, because its flags would invalidate other builds.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom"
export RUSTFLAGS="--cfg rospin_loom"

cargo test -p rospin-engine --test loom --release
