#!/usr/bin/env bash
# Builds what people install who have no Rust: the `rospin` command for this machine's processor, as an archive and as a Debian package,
# both with manual pages and completions. They go to target/release-files/.
#
#   .ci/release/build.sh
#
# Needs `cargo zigbuild` (pip install -r .ci/release/tools.txt), which links for an old C library, CMake for Cyclone DDS, `cargo deb`
# (cargo install cargo-deb), and `objdump` and `dpkg-deb`, which look at the results.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Debian 10, Ubuntu 20.04, and so JetPack 5 have this one or a newer one. The Debian package asks for it (crates/cli/Cargo.toml).
glibc=2.28
target=$(rustc -vV | sed -n 's/^host: //p')
version=$(cargo pkgid --manifest-path crates/cli/Cargo.toml | sed 's/.*@//')
folder="${CARGO_TARGET_DIR:-target}"
built="$folder/$target/release"
files="$folder/release-files"

# With both middlewares: people who have no Rust look at robots. Their C and C++ is linked statically.
cargo zigbuild --locked --release -p rospin-cli --features dds,zenoh,bridge,sqlite --target "$target.$glibc"
needed=$(objdump -T "$built/rospin" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)
if [ "$(printf '%s\n' "GLIBC_$glibc" "$needed" | sort -V | tail -n 1)" != "GLIBC_$glibc" ]; then
    echo "build.sh: the program needs $needed" >&2
    exit 1
fi
others=$(objdump -p "$built/rospin" | sed -n 's/^ *NEEDED *//p' | grep -vE '^(libc|libm|libpthread|libdl|librt|libutil|ld-linux.*)\.so\.[0-9]+$' || true)
if [ -n "$others" ]; then
    echo "build.sh: the program needs ${others//$'\n'/, }" >&2
    exit 1
fi

# Beside the program, where `cargo deb` looks for them.
rm -rf "$built/share"
"$built/rospin" man "$built/share/man"
"$built/rospin" completions bash >"$built/share/rospin.bash"
"$built/rospin" completions zsh >"$built/share/_rospin"
"$built/rospin" completions fish >"$built/share/rospin.fish"

rm -rf "$files"
name="rospin-$version-$target"
root="$files/$name"
install -Ds --strip-program=strip "$built/rospin" "$root/bin/rospin"
install -Dm644 -t "$root/share/man/man1" "$built"/share/man/*.1
install -Dm644 "$built/share/rospin.bash" "$root/share/bash-completion/completions/rospin"
install -Dm644 -t "$root/share/zsh/site-functions" "$built/share/_rospin"
install -Dm644 -t "$root/share/fish/vendor_completions.d" "$built/share/rospin.fish"
install -m644 -t "$root" LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md
tar -czf "$files/$name.tar.gz" --owner=0 --group=0 -C "$files" "$name"
rm -rf "$root"

cargo deb --locked --no-build -p rospin-cli --target "$target" --output "$files"
if [ "$(dpkg-deb --field "$files"/*.deb Depends)" != "libc6 (>= $glibc)" ]; then
    echo "build.sh: the package does not ask for the C library $glibc" >&2
    exit 1
fi
(cd "$files" && sha256sum -- * >"$name.sha256")
ls -l "$files"
