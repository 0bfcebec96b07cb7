#!/usr/bin/env bash
# Publishes every crate on crates.io, in order. Goes on where an earlier run stopped: what is there already is left out.
#
#   .ci/release/publish.sh
#
# Before that: .ci/set-repository.sh, and .ci/release/rehearse.sh. The token is that of `cargo login`, or `CARGO_REGISTRY_TOKEN`.
# crates.io takes five new names at once, and then one every ten minutes, so the first release takes four hours.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! grep -q '^repository = "https://' Cargo.toml; then
    echo "publish.sh: the crates name no repository: .ci/set-repository.sh https://HOST/OWNER/NAME, and commit that" >&2
    exit 1
fi
said=$(mktemp)
trap 'rm -f "$said"' EXIT
# Compiling was part of the rehearsal.
mapfile -t folders < <(grep -v '^#' .ci/release/crates.txt)
for folder in "${folders[@]}"; do
    until cargo publish --locked --no-verify --manifest-path "$folder/Cargo.toml" 2>&1 | tee "$said"; do
        if grep -q 'already exists on' "$said"; then
            break
        elif grep -qE '429|too many' "$said"; then
            echo "publish.sh: goes on in ten minutes"
            sleep 600
        else
            echo "publish.sh: $folder was not published; nothing after it was" >&2
            exit 1
        fi
    done
done
