#!/usr/bin/env bash
# Runs the fuzz targets (fuzz/targets): every parser of text, and of what comes over the network, in search of an input that it
# panics on. Takes 20 seconds a target, or as many as are given; after them may come the targets. They need a nightly toolchain
# and cargo-fuzz; without one they are skipped. What is over DDS and Zenoh runs only if asked for, since it compiles for long:
# `.ci/fuzz.sh 60 dds zenoh`.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds="${1:-20}"
targets=("${@:2}")
if [ ${#targets[@]} = 0 ]; then
    targets=(scenario deployment components values names parameter_file parameter_services interfaces)
fi

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "fuzz: skipped: no nightly toolchain (rustup toolchain install nightly)"
    exit 0
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "fuzz: skipped: no cargo-fuzz (cargo install cargo-fuzz --locked)"
    exit 0
fi

# What a target begins with: files of the repository itself, where they are what it reads.
seeds() {
    case "$1" in
    scenario) ls crates/scenario/scenarios/{chain,exp?,latency,one_core}.toml ;;
    deployment) ls crates/scenario/deployments/*.toml crates/engine/examples/deployment.toml ;;
    components) ls crates/rospin/examples/container.toml ;;
    *) ls fuzz/seeds/"$1"/* ;;
    esac
}

for number in "${!targets[@]}"; do
    target="${targets[$number]}"
    printf '\n-- fuzz target %s, %d of %d\n' "$target" $((number + 1)) ${#targets[@]}
    # What was found before is kept, and begun with.
    mkdir -p fuzz/corpus/"$target"
    seeds "$target" | xargs cp -t fuzz/corpus/"$target"
    features=()
    case "$target" in dds | zenoh) features=(--features "$target") ;; esac
    # What takes ten seconds is found to hang. Of its thousands of new inputs only every doubling is shown.
    cargo +nightly fuzz run "${features[@]}" "$target" -- -max_total_time="$seconds" -timeout=10 2>&1 |
        grep -vE '^#[0-9]+[[:space:]]+(NEW|REDUCE)|# Uses:'
done
