#!/usr/bin/env bash
# Packages each crate as it would be published, and checks that each package is whole: licences,
# readme, and what is built into the program: plans, workloads, servers, the page of reports.
#   packaging/crates.sh          without compiling, in seconds
#   packaging/crates.sh verify   compiles each package on its own, as cargo publish would
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-}
flags=(--workspace --locked --allow-dirty --quiet)
# What is only for this repository: `publish = false`.
mapfile -t private < <(grep -l '^publish = false' */Cargo.toml */*/Cargo.toml)
for manifest in "${private[@]}"; do
    flags+=(--exclude "$(sed -n 's/^name = "\(.*\)"/\1/p' "$manifest" | head -n 1)")
done
[ "$mode" = verify ] || flags+=(--no-verify)
packages=${CARGO_TARGET_DIR:-target}/package
rm -f "$packages"/*.crate
# The page is no file of git's, so that what is packaged differs from what is committed.
if ! output=$(${CARGO:-cargo} package "${flags[@]}" 2>&1); then
    printf '%s\n' "$output" >&2
    exit 1
fi
count=0
fail() {
    echo "$1" >&2
    exit 1
}
# has CRATE COUNT PATTERN: at least so many files of a package have such names.
has() {
    found=$(tar -tzf "$1" | grep -c -- "$3" || true)
    [ "$found" -ge "$2" ] || fail "$1 holds $found files like $3, not $2: its include is wrong"
}
for crate in "$packages"/bakeoff*.crate; do
    count=$((count + 1))
    for file in LICENSE-MIT LICENSE-APACHE README.md src/; do
        has "$crate" 1 "^[^/]*/$file"
    done
    links=$(tar -tvzf "$crate" | grep -c '^l' || true)
    [ "$links" -eq 0 ] || fail "$crate holds $links links, which lead nowhere elsewhere"
    bytes=$(stat -c %s "$crate")
    [ "$bytes" -le 10000000 ] || fail "$crate has $bytes bytes; registries take 10 MB"
done
crates=$(grep -L '^publish = false' crates/*/Cargo.toml | wc -l)
[ "$count" -eq "$crates" ] || fail "$count packages were made of $crates crates"
has "$packages"/bakeoff-plan-*.crate "$(find plans workloads -name '*.toml' | wc -l)" \
    '/\(plans\|workloads\)/.*\.toml$'
has "$packages"/bakeoff-stage-*.crate "$(find servers -type f | wc -l)" '/servers/'
tar -xzOf "$packages"/bakeoff-report-*.crate --wildcards '*/page/index.html' |
    cmp - web/dist/index.html
echo "$count crates are packaged in $packages"
