#!/usr/bin/env bash
# Measures a machine, and puts everything into one file to send back: what its kernel can promise, and the experiments that a machine with
# two cores and an ordinary kernel can only simulate. For owners of four cores or more, best with PREEMPT_RT. Takes about half an hour,
# in which nothing else should run.
#
#   sudo lab/kit.sh                  writes rospin-kit.tar.gz
#   lab/kit.sh --quick FILE.tar.gz   two seconds each, to try it
#
# As root, threads have real-time priorities. Without, the figures say so. The file has no names of hosts, users or networks: look at it
# before you send it. `ROSPIN` and `ROSPIN_LAB` may name the two programs; otherwise they are built here, as the user who called sudo.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=10 look=60 rounds=3
if [ "${1:-}" = --quick ]; then
    seconds=2 look=0.1 rounds=1
    shift
fi
file=$(realpath "${1:-rospin-kit.tar.gz}")

build() {
    ${SUDO_USER:+sudo --login --user "$SUDO_USER" --} cargo build --release --locked --manifest-path "$PWD/$1"
}
if [ -z "${ROSPIN:-}" ]; then
    build Cargo.toml
    ROSPIN=target/release/rospin
fi
if [ -z "${ROSPIN_LAB:-}" ]; then
    build lab/Cargo.toml
    ROSPIN_LAB=lab/target/release/rospin-lab
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kit="$work/rospin-kit"
mkdir "$kit"

# Runs a command, and keeps what it says and its figures. One that fails is part of the result.
measure() {
    local name="$1"
    shift
    echo "== $name"
    if "$@" --quiet --json "$kit/$name.json" >"$kit/$name.txt" 2>&1; then
        cat "$kit/$name.txt"
    else
        echo "$name ended with $?" | tee -a "$kit/failures.txt"
    fi
}

{
    uname -srvm
    cat /sys/kernel/realtime /proc/cmdline 2>/dev/null || true
    lscpu 2>/dev/null || true
    git rev-parse HEAD 2>/dev/null || true
} >"$kit/machine.txt"

measure doctor "$ROSPIN" doctor --duration "$look"
experiment() {
    measure "$1" "$ROSPIN_LAB" "$@" --report "$work/report.html"
}
experiment latency --duration "$seconds" --runs "$rounds"
experiment timers --duration "$seconds" --rounds 1
experiment inversion --duration "$seconds"
experiment throughput --workloads threads --contenders limit,wait-set-multi,rospin-fixed-priority --seconds "$seconds" --rounds "$rounds"
# One executor with several threads, or several with one: measured where the machine has the cores.
experiment reference-system --duration "$seconds" --cores 2,4

# Folders of the user are nobody's business.
sed -i "s|$PWD|.|g; s|$HOME|~|g" "$kit"/*
tar -czf "$file" -C "$work" rospin-kit
echo "Written: $file. Thank you: attach it to an issue."
