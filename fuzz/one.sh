#!/bin/sh
# Runs one target for some seconds and says how many inputs it met: fuzz/one.sh SECONDS TARGET
set -eu
cd "$(dirname "$0")"
seconds=$1
target=$2
mkdir -p "corpus/$target" "artifacts/$target"
output=artifacts/$target/output
target/*/release/"$target" "corpus/$target" -artifact_prefix="artifacts/$target/" \
    -max_total_time="$seconds" -rss_limit_mb=4096 >"$output" 2>&1 || {
    echo "fuzz $target failed:"
    tail -n 40 "$output"
    exit 1
}
echo "fuzz $target for $seconds s: $(grep -o 'Done .*' "$output" | tail -n 1)"
