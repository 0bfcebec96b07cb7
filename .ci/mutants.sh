#!/usr/bin/env bash
# Injects mistakes into a copy of the sources, each behind a name, and looks which are found. Needs Python 3.11.
#
#   .ci/mutants.sh                        all lists
#   .ci/mutants.sh programs               the mistakes of crates/engine/tests/explore/mutants.toml, by the random programs of
#                                         crates/engine/tests/explore.rs. Prints by which rule, and after how many programs
#   .ci/mutants.sh programs no-last-look  one of them
#   .ci/mutants.sh nodes                  the mistakes of crates/node/tests/nodes/mutants.toml, by the random programs of
#                                         crates/node/tests/nodes.rs. Prints as for the engine
#   .ci/mutants.sh nodes NAME             one of them
#   .ci/mutants.sh tests                  the mistakes of .ci/mutants/foreign.toml, by the tests of the crate and of those that
#                                         depend on it. Prints by which test. Takes an hour
#   .ci/mutants.sh tests NAME ...         some of them
#   .ci/mutants.sh own                    the same mistakes, by the tests of the mistake's own crate alone
#   .ci/mutants.sh own NAME ...           some of them
#   .ci/mutants.sh days                   the mistakes of .ci/mutants/network*.toml, by 500 robot-days of a fleet on a simulated network.
#                                         Prints by which seed
#   .ci/mutants.sh days NAME ...          some of them
#   MUTANT_PROGRAMS=20000 .ci/mutants.sh  with more programs per mistake
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-target}"
mkdir -p "$target/mutants"
target=$(cd "$target" && pwd)/mutants
copy="$target/work"
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR="$target/build" PYTHONDONTWRITEBYTECODE=1

copy_sources() {
    rm -rf "$copy"
    mkdir -p "$copy"
    git ls-files -z | tar --null -cf - -T - | tar -xf - -C "$copy"
}

# Runs the random programs with one mistake.
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

# Looks for mistakes by random programs, for all of them or for one, given the list, the test and Cargo's arguments.
by_programs() {
    local list=$1 test=$2 only="${4:-}" names built package
    read -ra package <<<"$3"
    export MUTANT_PROGRAMS="${MUTANT_PROGRAMS:-10000}"
    copy_sources
    python3 .ci/mutants/inject.py "$copy" "$list"
    names=$(sed -n 's/^name = "\(.*\)"/\1/p' "$list")
    built=$(cd "$copy" && RUSTFLAGS="--cfg rospin_shuttle" cargo test "${package[@]}" --release \
        --test "$test" --no-run --message-format=json-render-diagnostics)
    MUTANT_PROGRAM=$(grep -o "\"executable\":\"[^\"]*$test-[^\"]*\"" <<<"$built" | tail -1 | cut -d'"' -f4)
    export MUTANT_PROGRAM

    # Programs that fail without any mistake are left out.
    EXPLORE_SKIP=$(EXPLORE_KEEP_GOING=1 EXPLORE_PROGRAMS=$MUTANT_PROGRAMS "$MUTANT_PROGRAM" --exact random_programs \
        --nocapture 2>/dev/null | grep -oE '^[0-9]+: [A-Z]' | cut -d: -f1 | paste -sd, || true)
    export EXPLORE_SKIP
    if [ -n "$EXPLORE_SKIP" ]; then
        echo "these programs fail without any mistake and are left out: $EXPLORE_SKIP"
    fi

    if [ -n "$only" ]; then echo "$only"; else sort -u <<<"$names"; fi |
        xargs -P "$(nproc)" -I{} bash -c 'look {}' | tee "$target/$test.txt"
    echo "$(grep -vc 'NOT FOUND' "$target/$test.txt") of $(wc -l <"$target/$test.txt") found"
}

by_engine_programs() {
    by_programs crates/engine/tests/explore/mutants.toml explore "-p rospin-engine --no-default-features" "$@"
}

by_node_programs() {
    local quick=profile.release.package.rospin-node.opt-level=1
    by_programs crates/node/tests/nodes/mutants.toml nodes "-p rospin-node --config $quick" "$@"
}

# Looks for mistakes by the tests, for all of them or for some.
by_tests() {
    copy_sources
    python3 .ci/mutants/tests.py "$copy" .ci/mutants/foreign.toml "$@" | tee "$target/tests.txt"
}

# Looks for mistakes by the tests of their own crates, for all of them or for some.
by_own_tests() {
    copy_sources
    python3 .ci/mutants/tests.py --own "$copy" .ci/mutants/foreign.toml "$@" | tee "$target/own.txt"
}

# Looks for mistakes by days of a fleet, for all of them or for some.
by_days() {
    copy_sources
    python3 .ci/mutants/inject.py "$copy" .ci/mutants/network*.toml
    local names said
    export SIMULATED_DAYS="${SIMULATED_DAYS:-500}"
    names=$(sed -n 's/^name = "\(.*\)"$/\1/p' .ci/mutants/network*.toml | awk '!seen[$0]++')
    if [ $# -gt 0 ]; then names=$(printf '%s\n' "$@"); fi
    (cd "$copy" && cargo test -q -p rospin-node --test node --no-run)
    while read -r name; do
        said=$(cd "$copy" && ROSPIN_MUTANT=$name cargo test -q -p rospin-node --test node fleets 2>&1 || true)
        said=$(grep -om1 'SIMULATED_SEED=[0-9]*' <<<"$said" || echo "NOT FOUND")
        printf '%-44s %s\n' "$name" "$said"
    done <<<"$names" | tee "$target/days.txt"
    echo "$(grep -vc 'NOT FOUND' "$target/days.txt") of $(wc -l <"$target/days.txt") found"
    if grep -q 'NOT FOUND' "$target/days.txt"; then return 1; fi
}

case "${1:-}" in
"")
    by_engine_programs
    by_node_programs
    by_tests
    by_days
    ;;
programs) by_engine_programs "${@:2}" ;;
nodes) by_node_programs "${@:2}" ;;
tests) by_tests "${@:2}" ;;
own) by_own_tests "${@:2}" ;;
days) by_days "${@:2}" ;;
*)
    echo "\`programs\`, \`nodes\`, \`tests\`, \`own\` or \`days\`, not \`$1\`" >&2
    exit 2
    ;;
esac
