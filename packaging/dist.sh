#!/usr/bin/env bash
# Builds the static program for a target: packaging/dist.sh TARGET FILE
#
# The same sources give the same bytes wherever they lie: paths are mapped away, times come from
# SOURCE_DATE_EPOCH, and nothing is taken from the environment's own flags. Needs the target's
# standard library (rustup target add TARGET); for x86-64 musl-gcc (Debian: musl-tools), and for
# arm64 zig (`pip install ziglang`), which has a C library for it.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1 file=$2
here=$PWD
cargo_home=${CARGO_HOME:-$HOME/.cargo}
built=${CARGO_TARGET_DIR:-$here/target}
# Standard names, whatever the user's are.
unset RUSTFLAGS CFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC

if [ ! -s web/dist/index.html ]; then
    echo "the page is not built: run \`make page\`, which needs Node.js" >&2
    exit 1
fi
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
    echo "the standard library of $target is missing: rustup target add $target" >&2
    exit 1
fi

# The last of several that match is taken.
from_to=("$cargo_home=/cargo" "$here=/bakeoff" "$built=/target")
rust_flags='' c_flags=''
# A program that may lie anywhere in memory lists its own addresses. Packed, the list is 50 times
# shorter, which is 0.8 MB here.
packed=pack-relative-relocs
for map in "${from_to[@]}"; do
    rust_flags+="${rust_flags:+$'\x1f'}--remap-path-prefix=$map"
    c_flags+=" -ffile-prefix-map=$map"
done

name=${target//-/_}
case $target in
x86_64-unknown-linux-musl)
    command -v musl-gcc >/dev/null || {
        echo "musl-gcc is missing: apt-get install musl-tools" >&2
        exit 1
    }
    export "CC_$name=musl-gcc"
    link_flags=$'\x1f'-Clink-arg=-Wl,-z,$packed
    ;;
aarch64-unknown-linux-musl)
    command -v "${ZIG:-zig}" >/dev/null || {
        echo "zig is missing: pip install ziglang, and set ZIG to its program" >&2
        exit 1
    }
    export "CC_$name=$here/packaging/zig-cc"
    export "AR_$name=$here/packaging/zig-ar"
    # Rust brings a linker and the C library's objects; nothing of this machine's is linked.
    link_flags=$'\x1f-Clinker=rust-lld\x1f-Clink-self-contained=yes'
    link_flags+=$'\x1f-Clink-arg=-z\x1f-Clink-arg='$packed
    ;;
*)
    echo "\`$target\` is not a target that this builds" >&2
    exit 2
    ;;
esac
export "CFLAGS_$name=${c_flags# }"
export CARGO_ENCODED_RUSTFLAGS=$rust_flags$link_flags

${CARGO:-cargo} build --profile dist --locked --target "$target" -p bakeoff \
    --jobs "${DIST_JOBS:-$(nproc)}"
mkdir -p "$(dirname "$file")"
install -m 755 "$built/$target/dist/bakeoff" "$file"
# Cargo leaves symbols in where a package has settings of its own. Rust's tool knows every target.
sysroot=$(rustc --print sysroot)
host=$(rustc -vV | sed -n 's/^host: //p')
LD_LIBRARY_PATH=$sysroot/lib "$sysroot/lib/rustlib/$host/bin/rust-objcopy" --strip-all "$file"
