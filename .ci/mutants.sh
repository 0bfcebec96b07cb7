#!/usr/bin/env bash
# Injects the bugs of crates/engine/tests/explore/mutants.toml into a copy of the engine, and runs the random programs of
# crates/engine/tests/explore.rs on it. Prints which bugs they find, by which rule, and after how many programs. Needs
# Python 3.11. Takes some minutes.
#
#   .ci/mutants.sh                                 all bugs
#   .ci/mutants.sh no-last-look                    one bug
#   MUTANT_PROGRAMS=20000 .ci/mutants.sh           with more programs per bug
set -euo pipefail
cd "$(dirname "$0")/.."
only="${1:-}"
export MUTANT_PROGRAMS="${MUTANT_PROGRAMS:-10000}"

# A copy of the sources.
target="${CARGO_TARGET_DIR:-target}"
mkdir -p "$target/mutants"
target=$(cd "$target" && pwd)
copy="$target/mutants/work"
rm -rf "$copy"
mkdir -p "$copy"
git ls-files -z Cargo.toml Cargo.lock README.md .ci/union crates examples lab | tar --null -cf - -T - | tar -xf - -C "$copy"
names=$(python3 .ci/mutants.py "$copy")

export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR="$target/mutants/build"
built=$(cd "$copy" && RUSTFLAGS="--cfg rospin_shuttle" cargo test -p rospin-engine --no-default-features --release --test explore \
    --no-run --message-format=json 2>/dev/null) || {
    echo "the sources do not compile with the bugs:"
    (cd "$copy" && RUSTFLAGS="--cfg rospin_shuttle" cargo test -p rospin-engine --no-default-features --release --test explore --no-run)
    exit 1
}
MUTANT_PROGRAM=$(grep -o '"executable":"[^"]*explore-[^"]*"' <<<"$built" | tail -1 | cut -d'"' -f4)
export MUTANT_PROGRAM

look() {
    local name=$1 progress out status=0 said
    progress=$(mktemp)
    out=$(ROSPIN_MUTANT=$name EXPLORE_PLAIN=1 EXPLORE_PROGRESS=$progress EXPLORE_PROGRAMS=$MUTANT_PROGRAMS \
        timeout 300 "$MUTANT_PROGRAM" --exact random_programs --nocapture 2>/dev/null) || status=$?
    said=$(grep -m1 '^FAILED' <<<"$out" | cut -c9-110 || true)
    local programs=$(($(cat "$progress") + 1))
    rm -f "$progress"
    case $status in
    0) printf '%-36s NOT FOUND after %s programs\n' "$name" "$MUTANT_PROGRAMS" ;;
    1) printf '%-36s after %6s  %s\n' "$name" "$programs" "$said" ;;
    124) printf '%-36s after %6s  Engine: it goes on for ever\n' "$name" "$programs" ;;
    *) printf '%-36s after %6s  Engine: the process ends\n' "$name" "$programs" ;;
    esac
}
export -f look

# Programs that fail without any bug are left out.
EXPLORE_SKIP=$(EXPLORE_KEEP_GOING=1 EXPLORE_PROGRAMS=$MUTANT_PROGRAMS "$MUTANT_PROGRAM" --exact random_programs --nocapture \
    2>/dev/null | grep -oE '^[0-9]+: [A-Z]' | cut -d: -f1 | paste -sd, || true)
export EXPLORE_SKIP
if [ -n "$EXPLORE_SKIP" ]; then
    echo "these programs fail without any bug and are left out: $EXPLORE_SKIP"
fi

if [ -n "$only" ]; then echo "$only"; else sort -u <<<"$names"; fi |
    xargs -P "$(nproc)" -I{} bash -c 'look {}' | tee "$target/mutants/table.txt"
echo "$(grep -vc 'NOT FOUND' "$target/mutants/table.txt") of $(wc -l <"$target/mutants/table.txt") found"
