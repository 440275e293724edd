#!/bin/sh
# Runs one target for some seconds and says how many inputs it met: fuzz/one.sh PROGRAM SECONDS TARGET
set -eu
cd "$(dirname "$0")/.."
program=$1
seconds=$2
target=$3
mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
output=fuzz/artifacts/$target/output
FUZZ_TARGET="$target" "$program" "fuzz/corpus/$target" \
    -artifact_prefix="fuzz/artifacts/$target/" -max_total_time="$seconds" -rss_limit_mb=4096 \
    >"$output" 2>&1 || {
    echo "fuzz $target failed:"
    tail -n 40 "$output"
    exit 1
}
echo "fuzz $target for $seconds s: $(grep -o 'Done .*' "$output" | tail -n 1)"
