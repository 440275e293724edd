#!/bin/sh
# The report's page in headless Chromium: makes a report from an invented record and tests it.
set -eu
cd "$(dirname "$0")/../.."
page=$(mktemp -d)/report.html
trap 'rm -rf "$(dirname "$page")"' EXIT
${CARGO:-cargo} run --quiet --locked -p bakeoff-report --example synthetic_report -- "$page"
REPORT="$page" node --test tests/report/
