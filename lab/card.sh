#!/usr/bin/env bash
# Tests and measures rospin on an NVIDIA GPU. The machine with the card needs neither Rust nor a network: programs are
# built elsewhere and carried there.
#
#   lab/card.sh build FOLDER   builds the tests, the benches and the lab for x86-64 into FOLDER, which it creates
#   FOLDER/card.sh run         runs all of them there in about five minutes, and leaves reports in FOLDER/out
#
# The machine with the card needs the driver (libcuda.so.1) and NVRTC, which compiles kernels (libnvrtc.so, of the CUDA
# toolkit or of the Python package nvidia-cuda-nvrtc). NVRTC names the folder of the latter if it is not found.
set -euo pipefail

usage() {
    sed -n '2,11s/^# \{0,1\}//p' "$0"
}

# Builds by a command of cargo, and copies the programs into a folder, as KIND-NAME.
keep() {
    local folder=$1 kind=$2
    shift 2
    local line path name
    # Lines like `Executable tests/device.rs (target/release/deps/device-0123)`. A crate's own unit tests need no card.
    "$@" 2>&1 | tee /dev/stderr | grep -E 'Executable (tests|benches)/' | while read -r line; do
        path=${line##*(}
        path=${path%)}
        name=$(basename "$path")
        install -s "$path" "$folder/$kind-${name%-*}"
    done
}

build() {
    local folder=$1
    mkdir -p "$folder"
    folder=$(cd "$folder" && pwd)
    cd "$(dirname "$0")/.."
    keep "$folder" test cargo test --release -p rospin-cuda --tests --no-run
    keep "$folder" bench cargo bench -p rospin-cuda --benches --no-run
    cargo build --release --manifest-path lab/Cargo.toml --features cuda
    install -s lab/target/release/rospin-lab "$folder/rospin-lab"
    install lab/card.sh "$folder/card.sh"
    ls -l "$folder"
}

# Prints a title, and runs the rest of the arguments. Remembers failures.
part() {
    local title=$1
    shift
    printf '\n== %s\n' "$title"
    if ! "$@"; then
        failed+=("$title")
    fi
}

run() {
    cd "$(dirname "$0")"
    local nvrtc=${NVRTC:-}
    if [ -z "$nvrtc" ] && ! ldconfig -p | grep -q libnvrtc.so; then
        nvrtc=$(dirname "$(find / -name 'libnvrtc.so*' -not -path '/proc/*' 2>/dev/null | head -n 1)")
    fi
    export LD_LIBRARY_PATH=${nvrtc:+$nvrtc:}${LD_LIBRARY_PATH:-}
    local out=${OUT:-out}
    mkdir -p "$out"
    failed=()
    local program
    for program in test-*; do
        part "$program" "./$program" --nocapture
    done
    for program in bench-*; do
        part "$program" "./$program"
    done
    local load
    for load in 0.6 0.9; do
        part "accelerator, load $load" ./rospin-lab accelerator --device cuda --load "$load" --duration 10 --quiet \
            --json "$out/accelerator-$load.json" --report "$out/accelerator-$load.html" --recordings "$out/recordings-$load"
    done
    if [ ${#failed[@]} -gt 0 ]; then
        printf '\nFAILED:'
        printf ' %s;' "${failed[@]}"
        echo
        return 1
    fi
    printf '\nAll parts ran.\n'
}

case ${1:-} in
    build) build "${2:?the folder that is created}" ;;
    run) run ;;
    -h | --help) usage ;;
    *)
        usage >&2
        exit 2
        ;;
esac
