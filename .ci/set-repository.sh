#!/usr/bin/env bash
# Sets the address of the repository in the manifests of all crates that are published.
#
#   .ci/set-repository.sh https://HOST/OWNER/NAME
#
# The crates of both workspaces inherit it.
set -euo pipefail
cd "$(dirname "$0")/.."

url="${1:-}"
if [ $# -ne 1 ] || ! [[ "$url" =~ ^https://[A-Za-z0-9./_~-]+$ ]]; then
    echo "usage: .ci/set-repository.sh https://HOST/OWNER/NAME" >&2
    exit 2
fi

# Puts a line below the one that matches, in place of an earlier one with the same key: FILE MATCH LINE.
put() {
    sed -i -e "/^${3%% *} *=/d" "$1"
    sed -i -e "s|$2|&\n$3|" "$1"
}

for workspace in Cargo.toml lab/Cargo.toml; do
    put "$workspace" '^license = .*' "repository = \"$url\""
done
for manifest in crates/*/Cargo.toml lab/Cargo.toml lab/*/Cargo.toml; do
    if grep -q '^license.workspace' "$manifest" && ! grep -q '^publish = false' "$manifest"; then
        put "$manifest" '^license\.workspace = true' 'repository.workspace = true'
    fi
done

# Cargo says what it understood: every crate that is published has the address.
for manifest in Cargo.toml lab/Cargo.toml; do
    cargo metadata --manifest-path "$manifest" --no-deps --format-version 1 |
        python3 -c '
import json, sys
for package in json.load(sys.stdin)["packages"]:
    if package["publish"] is None and package["repository"] != sys.argv[1]:
        sys.exit("set-repository.sh: the manifest of {} has the repository {}".format(package["name"], package["repository"]))
' "$url"
done
