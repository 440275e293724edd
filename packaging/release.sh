#!/usr/bin/env bash
# Makes everything of a release in target/packages: static programs, packages, the sources with the
# page, what the programs are built of, and checksums. The same sources give the same bytes.
#   packaging/release.sh [TARGET...]     default: x86_64-unknown-linux-musl
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- x86_64-unknown-linux-musl
targets=("$@")
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
dist=$PWD/target/packages
most=20000000
rm -rf "$dist"
mkdir -p "$dist"
packaging/source.sh "$dist/bakeoff-$version.tar.gz"
for target in "${targets[@]}"; do
    packaging/dist.sh "$target" "$dist/bakeoff-$target"
    bytes=$(stat -c %s "$dist/bakeoff-$target")
    if [ "$bytes" -gt "$most" ]; then
        echo "bakeoff-$target has $bytes bytes; at most $most are meant" >&2
        exit 1
    fi
    share=$(mktemp -d)
    ${CARGO:-cargo} metadata --locked --format-version 1 --filter-platform "$target" |
        python3 -B packaging/sbom.py "$target" >"$share/bakeoff.cdx.json"
    cp "$share/bakeoff.cdx.json" "$dist/bakeoff-$target.cdx.json"
    # Of the program for this machine: pages and completions are the same everywhere.
    own=$dist/bakeoff-$(uname -m)-unknown-linux-musl
    [ -x "$own" ] || own=${BAKEOFF:-target/work/bakeoff}
    packaging/share.sh "$own" "$share"
    case $target in
    x86_64-*) architecture=amd64 ;;
    aarch64-*) architecture=arm64 ;;
    esac
    packaging/deb.sh "$dist/bakeoff-$target" $architecture "$share" \
        "$dist/bakeoff_${version}_$architecture.deb"
    rm -rf "$share"
done
(cd "$dist" && sha256sum -- * >SHA256SUMS)
ls -l "$dist"
