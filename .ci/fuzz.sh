#!/usr/bin/env bash
# Runs the fuzz targets (fuzz/targets): parsers of text and of input from the network, in search of input that makes them panic.
#
#   .ci/fuzz.sh [SECONDS_PER_TARGET [TARGET ...]]     by default 20 seconds, and all targets but dds and zenoh
#
# Needs a nightly toolchain and cargo-fuzz; without them it is skipped. The targets dds and zenoh take long to compile.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds="${1:-20}"
targets=("${@:2}")
if [ ${#targets[@]} = 0 ]; then
    targets=(recording mcap ros2_tracing scenario deployment components values names parameter_file parameter_services interfaces accelerator_messages)
fi

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "fuzz: skipped: no nightly toolchain (rustup toolchain install nightly)"
    exit 0
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "fuzz: skipped: no cargo-fuzz (cargo install cargo-fuzz --locked)"
    exit 0
fi

# Prints the seeds of a target: files of the repository where the target reads such files, else those in fuzz/seeds.
seeds() {
    case "$1" in
    recording) ls crates/trace/tests/golden.mcap ;;
    mcap) ls crates/trace/tests/golden.mcap crates/cli/tests/bags/drive/*.mcap ;;
    ros2_tracing) ls crates/trace/tests/drive.txt ;;
    scenario) ls crates/scenario/scenarios/{chain,exp?,latency,one_core}.toml ;;
    deployment) ls crates/scenario/deployments/*.toml crates/engine/examples/deployment.toml ;;
    components) ls crates/rospin/examples/container.toml ;;
    *) ls fuzz/seeds/"$1"/* ;;
    esac
}

for number in "${!targets[@]}"; do
    target="${targets[$number]}"
    printf '\n-- fuzz target %s, %d of %d\n' "$target" $((number + 1)) ${#targets[@]}
    # The corpus of earlier runs is kept and used.
    mkdir -p fuzz/corpus/"$target"
    seeds "$target" | xargs cp -t fuzz/corpus/"$target"
    features=()
    case "$target" in dds | zenoh) features=(--features "$target") ;; esac
    # An input that takes ten seconds counts as a hang. The lines of new inputs are left out, because there are thousands.
    cargo +nightly fuzz run "${features[@]}" "$target" -- -max_total_time="$seconds" -timeout=10 2>&1 |
        grep -vE '^#[0-9]+[[:space:]]+(NEW|REDUCE)|# Uses:'
done
