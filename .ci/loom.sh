#!/usr/bin/env bash
# Checks every interleaving of the lock-free pieces (crates/engine/tests/loom.rs). Takes a minute or two.
set -euo pipefail
cd "$(dirname "$0")/.."

# More preemptions find more, and take much longer: 3 find every mistake that was ever put in on purpose.
export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-3}"
# Flags of its own, so a folder of its own: other builds stay as they are.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom"
export RUSTFLAGS="--cfg rospin_loom"

cargo test -p rospin-engine --test loom --release
