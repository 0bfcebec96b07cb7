#!/usr/bin/env bash
# Packages every crate as `cargo publish` would, and compiles each package by itself. Prints the order in which to publish them.
# Takes several minutes.
#
#   .ci/package.sh                 all crates
#   .ci/package.sh --no-verify     without compiling them
set -euo pipefail
cd "$(dirname "$0")/.."

# The adapters are in the workspace of the lab, and stand between the crates that they use and `rospin`, which uses them. As long as
# nothing is on the registry, cargo is told where the others are.
elsewhere=()
for crate in core engine macros node scenario wire codegen msgs dynamic container accelerator remote dds zenoh wgpu; do
    elsewhere+=(--config "patch.crates-io.rospin-$crate.path=\"$PWD/crates/$crate\"")
done
# The lab uses nearly all.
all=("${elsewhere[@]}" --config "patch.crates-io.rospin.path=\"$PWD/crates/rospin\"")
for crate in analysis learn measure report sim tf2 trace tracetools; do
    all+=(--config "patch.crates-io.rospin-$crate.path=\"$PWD/crates/$crate\"")
done
# Cargo notes in the lock files where they were. They are changed while it packages, so that it must be told not to mind; instead, nothing else may
# be uncommitted at the beginning.
if [ -n "$(git status --porcelain)" ]; then
    echo "package.sh: commit your changes first; packages contain what is committed" >&2
    exit 1
fi
saved=$(mktemp -d)
restore() {
    cp "$saved/workspace" Cargo.lock
    cp "$saved/lab" lab/Cargo.lock
    rm -rf "$saved"
}
cp Cargo.lock "$saved/workspace"
cp lab/Cargo.lock "$saved/lab"
trap restore EXIT
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/package"

for adapter in dds zenoh wgpu; do
    cargo package --manifest-path "crates/$adapter/Cargo.toml" --allow-dirty "${elsewhere[@]}" "$@"
done
cargo package --workspace --exclude rospin-testkit --exclude rospin-repository-test --exclude rospin-interfaces-test --exclude robot \
    --exclude custom_messages --exclude rospin-union --allow-dirty "${elsewhere[@]}" "$@"
cargo package --manifest-path lab/Cargo.toml -p rospin-synthetic -p rospin-lab --allow-dirty "${all[@]}" "$@"

cat <<'ORDER'

Name the repository first: `.ci/set-repository.sh https://HOST/OWNER/NAME`, and commit that. Then publish in this order, each with
`cargo publish --manifest-path crates/NAME/Cargo.toml`, the last two from lab/synthetic and lab:
  core wire codegen msgs dynamic scenario macros engine trace ffi learn sim analysis accelerator remote cuda node tracetools container dds zenoh wgpu tf2 rospin
  measure report cli synthetic lab
ORDER
