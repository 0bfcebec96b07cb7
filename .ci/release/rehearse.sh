#!/usr/bin/env bash
# Rehearses a release: publishes every crate to a registry on this machine, in order, by `cargo publish` itself. Then does what its users
# will do first, from empty folders and with nothing but what was published: a program that imports `rospin`, and
# `cargo install rospin-cli`. Says how long that takes, and for how many crates.
#
#   .ci/release/rehearse.sh             Cargo also compiles each crate by itself before it publishes it; takes an hour
#   .ci/release/rehearse.sh --quick     without that; takes minutes
#
# Needs Python 3 and crates.io, from which other people's crates come.
set -euo pipefail
cd "$(dirname "$0")/../.."

verify=()
case "${1:-}" in
"") ;;
--quick) verify=(--no-verify) ;;
*)
    echo "usage: .ci/release/rehearse.sh [--quick]" >&2
    exit 2
    ;;
esac
# Packages contain what is committed.
if [ -n "$(git status --porcelain)" ]; then
    echo "rehearse.sh: commit your changes first" >&2
    exit 1
fi

# All of it is read before it runs: that takes long, and the file may change meanwhile.
main() {
    place=$(mktemp -d)
    mkdir "$place/registry" "$place/cargo"
    # The registry ends with its standard input, the pipe.
    mkfifo "$place/input"
    python3 .ci/release/registry.py "$place/registry" <"$place/input" >"$place/address" &
    exec 9>"$place/input"
    trap 'exec 9>&-; rm -rf "$place"' EXIT
    until [ -s "$place/address" ]; do
        kill -0 $! || exit 1
        sleep 0.1
    done
    index="sparse+$(cat "$place/address")/index/"

    # A home without anything in it, whose crates.io is the registry here.
    export CARGO_HOME="$place/cargo"
    cat >"$CARGO_HOME/config.toml" <<CONFIG
[source.crates-io]
replace-with = "rehearsal"
[source.rehearsal]
registry = "$index"
[registries.rehearsal]
index = "$index"
token = "none"
CONFIG

    # Runs a step, says how long it took, and what for.
    timed() {
        local begin=$SECONDS what="$1"
        shift
        if ! "$@" >"$place/output" 2>&1; then
            cat "$place/output" >&2
            echo "rehearse.sh: FAILED: $what" >&2
            exit 1
        fi
        printf '%-56s %5d s %5d crates compiled\n' "$what" $((SECONDS - begin)) "$(grep -cE '^ +Compiling ' "$place/output" || true)"
    }

    # Shared by all, so that what several crates use is compiled once.
    target="${CARGO_TARGET_DIR:-target}/package"
    mapfile -t crates < <(grep -v '^#' .ci/release/crates.txt)
    publish() {
        local folder
        for folder in "${crates[@]}"; do
            cargo publish --registry rehearsal --locked --manifest-path "$folder/Cargo.toml" --target-dir "$target" "${verify[@]}" || return
        done
    }
    timed "cargo publish, ${#crates[@]} crates" publish
    du -ch "$place/registry"/*.crate | sed -n 's/\t.*total/ in all archives together/p'

    # The program on the page of `rospin`, as the registry shows it.
    cd "$place"
    tar -xf registry/rospin-[0-9]*.crate
    cargo --quiet init --name talker talker
    cd talker
    # shellcheck disable=SC2016 # The backticks are those of the page.
    sed -n '/^```rust/,/^```$/p' ../rospin-[0-9]*/README.md | sed '1d;$d' >src/main.rs
    timed "cargo add rospin" cargo add rospin
    timed "cargo build, of the program on its page" cargo build
    # It runs until somebody ends it: with SIGINT, as by Ctrl-C, it says goodbye and ends well.
    timed "the program, for 2 s" timeout --preserve-status --signal INT 2 target/debug/talker
    cd ..

    timed "cargo install rospin-cli" cargo install rospin-cli --locked --root "$place/installed"
    timed "rospin --version" installed/bin/rospin --version
    timed "rospin doctor" installed/bin/rospin doctor --quiet --duration 0.1
    timed "rospin demo" installed/bin/rospin demo --quiet --seconds 1
    echo "rehearsed"
}

main
