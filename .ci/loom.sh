#!/usr/bin/env bash
# Checks every interleaving of the lock-free data structures (crates/engine/tests/loom.rs). Takes a minute or two.
set -euo pipefail
cd "$(dirname "$0")/.."

# More preemptions find more bugs and take much longer. 3 find every bug that was injected so far.
export LOOM_MAX_PREEMPTIONS="${LOOM_MAX_PREEMPTIONS:-3}"
# A target folder of its own, because its flags would invalidate other builds.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/loom"
export RUSTFLAGS="--cfg rospin_loom"
built=$(cargo test -p rospin-engine --no-default-features --release --test loom --no-run --message-format=json)
program=$(grep -o '"executable":"[^"]*loom-[^"]*"' <<<"$built" | tail -1 | cut -d'"' -f4)

# One process per model. Loom maps memory for the stacks of each interleaving, and the threads of one process wait for each
# other there: models on two threads take longer than one after the other.
check() {
    local text
    local begin=$SECONDS
    if text=$("$program" --exact "$1" 2>&1) && grep -q '^test result: ok. 1 passed' <<<"$text"; then
        echo "ok      $1, $((SECONDS - begin)) s"
    else
        printf 'FAILED  %s\n%s\n' "$1" "$text"
        return 1
    fi
}
export -f check
export program
models=$("$program" --list | sed -n 's/: test$//p' | sort -r)
[ -n "$models" ] || { echo "FAILED  there are no models in $program"; exit 1; }
xargs -P "$(nproc)" -I{} bash -c 'check {}' <<<"$models"
