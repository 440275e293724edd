#!/bin/sh
# The report's page and the site's in headless Chromium, made from invented records.
set -eu
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# With the whole workspace, as the tests are built: with its crate alone, the features of its
# dependencies are others, and all are compiled again.
${CARGO:-cargo} build --quiet --locked --workspace \
    --example synthetic_report --example synthetic_site
examples=${CARGO_TARGET_DIR:-target}/debug/examples
make_page() {
    "$examples/synthetic_report" "$1"
}
# The page, and what its tables are compared with.
make_all() {
    make_page "$1.html"
    "$examples/synthetic_report" "$1.md" full-md
    "$examples/synthetic_report" "$1.csv" csv
}
ROUNDS=3 make_page "$folder/report.html"
ROUNDS=7 make_all "$folder/answer"
SIZE=large make_page "$folder/large.html"
PROTOCOL=h3 make_page "$folder/h3.html"
LOAD=constant make_all "$folder/constant"
ROUNDS=3 HOSTS=several make_all "$folder/hosts"
ROUNDS=7 STOPPED=halfway LATE=nginx-default make_page "$folder/stopped.html"
ROUNDS=7 FAILED=nginx-default make_all "$folder/failed"
export REPORT_FAILED="$folder/failed.html"
export REPORT_STOPPED="$folder/stopped.html"
export REPORT_HOSTS="$folder/hosts.html"
"$examples/synthetic_site" "$folder/public"
export SITE="$folder/public/index.html"
export REPORT="$folder/report.html" REPORT_ANSWER="$folder/answer.html"
export REPORT_LARGE="$folder/large.html" REPORT_H3="$folder/h3.html"
REPORT_CONSTANT="$folder/constant.html" node --test tests/report/
