#!/bin/sh
# The report's page in headless Chromium: makes a report from an invented record and tests it.
set -eu
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
make_page() {
    ${CARGO:-cargo} run --quiet --locked -p bakeoff-report --example synthetic_report -- "$1"
}
ROUNDS=3 make_page "$folder/report.html"
ROUNDS=7 make_page "$folder/answer.html"
SIZE=large make_page "$folder/large.html"
PROTOCOL=h3 make_page "$folder/h3.html"
LOAD=constant make_page "$folder/constant.html"
ROUNDS=3 HOSTS=several make_page "$folder/hosts.html"
export REPORT_HOSTS="$folder/hosts.html"
export REPORT="$folder/report.html" REPORT_ANSWER="$folder/answer.html"
export REPORT_LARGE="$folder/large.html" REPORT_H3="$folder/h3.html"
REPORT_CONSTANT="$folder/constant.html" node --test tests/report/
