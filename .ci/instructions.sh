#!/usr/bin/env bash
# Counts the instructions of the dispatch path per activation, and compares them with those of the last release. A busy
# machine does not disturb this benchmark. Needs valgrind; without it, or with another compiler, nothing is compared.
#
#   .ci/instructions.sh            counts and compares; fails if a case takes over 5 % more
#   .ci/instructions.sh --write    counts, and writes the figures
set -euo pipefail
cd "$(dirname "$0")/.."

figures=crates/engine/benches/dispatch.txt
tolerance_percent=5

if ! command -v valgrind >/dev/null; then
    echo "instructions: skipped: no valgrind (apt-get install valgrind)"
    exit 0
fi

program="$(cargo bench -p rospin-engine --bench dispatch --no-run --message-format=json-render-diagnostics |
    sed -n 's/.*"executable":"\([^"]*dispatch-[^"]*\)".*/\1/p' | tail -n 1)"
compiler="$(rustc -vV | sed -n '1p;s/^host: //p' | paste -sd ' ')"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# Prints the instructions and system calls of a run with that many activations.
count() {
    timeout 120 valgrind --tool=callgrind --collect-systime=yes --callgrind-out-file="$work/out" --log-file="$work/log" \
        "$program" "$1" "$2" || { cat "$work/log" >&2; return 1; }
    sed -n 's/^\(summary\|totals\): //p' "$work/out" | tail -n 1
}

# The difference of two runs, per activation, excludes what happens once.
few=2000 many=12000
{
    echo "# Instructions and system calls per activation, as valgrind counts them. Written by .ci/instructions.sh --write."
    echo "$compiler"
    for case in $("$program"); do
        read -r ir_few calls_few _ <<<"$(count "$case" "$few")"
        read -r ir_many calls_many _ <<<"$(count "$case" "$many")"
        awk -v name="$case" -v ir=$((ir_many - ir_few)) -v calls=$((calls_many - calls_few)) -v n=$((many - few)) \
            'BEGIN { printf "%-30s %8.1f %6.2f\n", name, ir / n, (calls > 0 ? calls : 0) / n }'
    done
} | tee "$work/figures"

if [[ "${1:-}" == --write ]]; then
    cp "$work/figures" "$figures"
    exit 0
fi
if ! grep -qxF "$compiler" "$figures"; then
    echo "instructions: not compared: $figures was written with another compiler"
    exit 0
fi
awk -v tolerance="$tolerance_percent" '
    /^#/ || NF != 3 || $2 !~ /^[0-9.]+$/ { next }
    NR == FNR { kept[$1] = $2; calls[$1] = $3; next }
    !($1 in kept) { printf "instructions: %s is new; run .ci/instructions.sh --write\n", $1; bad = 1; next }
    $2 > kept[$1] * (1 + tolerance / 100) || $3 > calls[$1] + 0.5 {
        printf "instructions: %s: %s instructions and %s system calls, were %s and %s\n", $1, $2, $3, kept[$1], calls[$1]
        bad = 1
    }
    END { exit bad }' "$figures" "$work/figures"
echo "instructions: no case takes over $tolerance_percent % more than in $figures"
