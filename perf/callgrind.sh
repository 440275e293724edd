#!/bin/sh
# Instructions that the load engine spends on one more request in user space: a number that no
# other load on the machine moves much, held below the budget in perf/budget.txt.
#
#   perf/callgrind.sh [path of instructions, see perf/instructions]
#
# Two runs that differ only in their count of requests, under callgrind, against the yardstick
# outside of it: the difference leaves out start, connections and report. The kernel's share,
# the larger one, is not in it: `make perf` measures that.
set -eu
cd "$(dirname "$0")/.."
program=${1:-target/release/instructions}
few=20000
many=40000
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

say() { printf '%s\n' "$*"; }

mkfifo "$folder/held"
"$program" yardstick <"$folder/held" >"$folder/yardstick" 2>&1 &
server=$!
# The yardstick serves until this end is closed: also where this script is killed.
exec 3>"$folder/held"
tries=0
until [ -s "$folder/yardstick" ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 100 ]; then
        say "the yardstick did not start:"
        cat "$folder/yardstick"
        exit 1
    fi
    sleep 0.05
done
address=$(cat "$folder/yardstick")

# instructions COUNT: the total of a run of COUNT requests.
instructions() {
    if ! timeout 120 valgrind --tool=callgrind --callgrind-out-file="$folder/out" \
        "$program" load "$address" "$1" >"$folder/report" 2>"$folder/valgrind" 3>&-; then
        say "failed under callgrind:" >&2
        tail -n 20 "$folder/valgrind" >&2
        exit 1
    fi
    if [ "$(cat "$folder/report")" != "$1" ]; then
        say "expected $1 requests, all of them ok, not $(cat "$folder/report")" >&2
        exit 1
    fi
    sed -n 's/^totals: \([0-9]*\).*/\1/p' "$folder/out"
}

# fewest COUNT [SO_FAR]: the fewest of three runs, and of those before. What happens by the clock,
# such as figures that are added up ten times a second, costs more where other programs make a run
# take longer.
fewest() {
    { echo "${2:-9999999999999}"; for _ in 1 2 3; do instructions "$1"; done; } | sort -n | head -n 1
}

budget=$(sed -n 's/^\([0-9][0-9]*\).*/\1/p' perf/budget.txt)
low= high=
# On a busy machine three runs may not be enough to see the fewest.
for _ in 1 2 3; do
    low=$(fewest "$few" "$low")
    high=$(fewest "$many" "$high")
    each=$(((high - low) / (many - few)))
    [ "$each" -gt "$budget" ] || break
done
say "instructions per request: $each (budget $budget)"
if [ "$each" -gt "$budget" ]; then
    say "more than perf/budget.txt allows: find out what they are spent on with"
    say "  valgrind --tool=callgrind $program load ADDRESS $many, then callgrind_annotate"
    exit 1
fi
if [ "$each" -le 0 ]; then
    say "that cannot be: the two runs did not differ in their requests"
    exit 1
fi
