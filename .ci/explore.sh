#!/usr/bin/env bash
# Runs random programs under controlled interleavings: on the engine (crates/engine/tests/explore.rs), or on nodes
# (crates/node/tests/nodes.rs). By default the engine's take about a minute on two cores, including the build.
#
#   .ci/explore.sh                              10,000 programs on the engine, as in .ci/run
#   .ci/explore.sh nodes                        3,000 programs on nodes, as in .ci/run; what follows holds for them, too
#   EXPLORE_PROGRAMS=1000000 .ci/explore.sh     a night's worth
#   EXPLORE_FIRST=500000 .ci/explore.sh         other programs: those from that number on
#   EXPLORE_SEED=4711 .ci/explore.sh            one program again; it is shrunk if it fails
#   EXPLORE_KEEP_GOING=1 .ci/explore.sh         a line for each program that fails, and on
#   EXPLORE_LOUD=1 .ci/explore.sh               with the panics of the programs
#
# A program that breaks a rule ends the run. It is shrunk and printed with the rule.
set -euo pipefail
cd "$(dirname "$0")/.."

# A target folder of its own, because its flags would invalidate other builds.
export CARGO_INCREMENTAL=0 CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/explore"
export RUSTFLAGS="--cfg rospin_shuttle"
case "${1:-engine}" in
engine)
    again=.ci/explore.sh programs=10000 test=explore
    package=(-p rospin-engine --no-default-features)
    ;;
nodes)
    again=".ci/explore.sh nodes" programs=3000 test=nodes
    # Optimising more takes longer than the programs that it makes faster.
    package=(-p rospin-node)
    package+=(--config profile.release.package.rospin-node.opt-level=1)
    package+=(--config profile.release.package.rospin-node.codegen-units=4)
    ;;
*)
    echo "\`engine\` or \`nodes\`, not \`$1\`" >&2
    exit 2
    ;;
esac
built=$(cargo test "${package[@]}" --release --test "$test" --no-run --message-format=json)
program=$(grep -o "\"executable\":\"[^\"]*$test-[^\"]*\"" <<<"$built" | tail -1 | cut -d'"' -f4)

# Small programs that failed once.
"$program" --quiet past:: >/dev/null 2>&1 || { "$program" past:: --nocapture --test-threads=1; exit 1; }

export EXPLORE_PROGRAMS="${EXPLORE_PROGRAMS:-$programs}" EXPLORE_PARTS
EXPLORE_PARTS=$(nproc)
if [ -n "${EXPLORE_SEED:-}" ]; then
    EXPLORE_PARTS=1
fi

# One process per core. Each writes the number of its current program to a file, in case it crashes.
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$folder"' EXIT
parts=()
for ((part = 0; part < EXPLORE_PARTS; part++)); do
    EXPLORE_PART=$part EXPLORE_PROGRESS="$folder/$part" \
        "$program" --exact random_programs --nocapture >"$folder/$part.txt" 2>/dev/null &
    parts+=($!)
done
failed=0
for ((part = 0; part < EXPLORE_PARTS; part++)); do
    wait "${parts[part]}" && status=0 || status=$?
    grep -v '^running\|^test \|^$' "$folder/$part.txt" || true
    if [ "$status" -gt 1 ]; then
        echo "FAILED: the process ended (status $status) while it ran program $(tr -d ' ' <"$folder/$part")"
        echo "EXPLORE_SEED=$(tr -d ' ' <"$folder/$part") $again runs it again"
    fi
    [ "$status" -eq 0 ] || failed=1
done
exit $failed
