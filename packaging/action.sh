#!/usr/bin/env bash
# What action.yml runs: gets bakeoff, runs it, writes the summary of its record to the page of the
# job. Its variables are set in action.yml.
set -euo pipefail

no_release() {
    echo "::error::no release \`$BAKEOFF_REF\` of this action was downloaded; use the tag of a" \
        "release, such as @v0.1.0, or build bakeoff and set \`program\`"
    exit 1
}

download() {
    case $(uname -m) in
    x86_64) name=bakeoff-x86_64-unknown-linux-musl ;;
    aarch64) name=bakeoff-aarch64-unknown-linux-musl ;;
    *)
        echo "::error::there is no bakeoff for $(uname -m); build it, and set \`program\`"
        exit 1
        ;;
    esac
    # Empty where the action is used as `./`.
    if [ -z "$BAKEOFF_REPOSITORY" ] || [ -z "$BAKEOFF_REF" ]; then
        no_release
    fi
    folder=${RUNNER_TEMP:-/tmp}/bakeoff-$BAKEOFF_REF
    mkdir -p "$folder"
    gh release download "$BAKEOFF_REF" --repo "$BAKEOFF_REPOSITORY" --dir "$folder" --clobber \
        --pattern "$name" --pattern SHA256SUMS || no_release
    (cd "$folder" && grep " $name\$" SHA256SUMS | sha256sum --check --quiet --strict)
    chmod 755 "$folder/$name"
    BAKEOFF=$folder/$name
}

# Whether the campaign came to its end and all contenders did their work, so that 4 means no more than
# rounds that cannot tell. It is also the end of a campaign that lost a host, and of one in which a
# contender did not start, died or gave wrong answers.
did_their_work() {
    case ${arguments[0]:-} in
    run | race) ;;
    *) return 1 ;;
    esac
    local report
    report=$(mktemp)
    "$BAKEOFF" report "$BAKEOFF_RECORD" --format json --output "$report" 2>/dev/null &&
        grep -q '"failing":\[\]' "$report"
}

# Whether the arguments ask that whatever weakens a number fails the job.
are_strict() {
    local argument
    for argument in "${arguments[@]}"; do
        [ "$argument" != --strict ] || return 0
    done
    return 1
}

# The folder that the arguments name with --out or --resume, if they do.
named_record() {
    local before='' argument
    for argument in "${arguments[@]}"; do
        case $argument in
        --out=* | --resume=*) echo "${argument#*=}" && return ;;
        esac
        case $before in
        --out | --resume) echo "$argument" && return ;;
        esac
        before=$argument
    done
}

case ${BAKEOFF_UNDECIDED:-warn} in
warn | fail) ;;
*)
    echo "::error::\`undecided\` is \`$BAKEOFF_UNDECIDED\`; write warn or fail"
    exit 2
    ;;
esac
[ -n "${BAKEOFF:-}" ] || download

arguments=()
while IFS= read -r line; do
    [ -z "$line" ] || arguments+=("$line")
done <<<"$BAKEOFF_ARGUMENTS"
# Those commands make a record, or go on with one; where it is must be known afterwards.
case ${arguments[0]:-} in
run | race | find | overload | change)
    named=$(named_record)
    if [ -n "$named" ]; then
        BAKEOFF_RECORD=$named
    elif [ -e "$BAKEOFF_RECORD/plan.json" ] || [ -e "$BAKEOFF_RECORD/trials.jsonl" ]; then
        echo "::error::$BAKEOFF_RECORD holds a record, perhaps from an earlier step; give each step a" \
            "\`record\` of its own"
        exit 2
    else
        arguments+=(--out "$BAKEOFF_RECORD")
    fi
    ;;
esac

code=0
"$BAKEOFF" "${arguments[@]}" || code=$?
{
    echo "exit-code=$code"
    echo "record=$BAKEOFF_RECORD"
} >>"$GITHUB_OUTPUT"
# After wrong usage there may be a record, but none that this step made.
if [ "$code" -ne 2 ] && [ -f "$BAKEOFF_RECORD/trials.jsonl" ]; then
    # A summary is of comparisons; a search, an overload or a change has none.
    "$BAKEOFF" report "$BAKEOFF_RECORD" --format summary >>"$GITHUB_STEP_SUMMARY" 2>/dev/null ||
        "$BAKEOFF" report "$BAKEOFF_RECORD" --format md >>"$GITHUB_STEP_SUMMARY" ||
        echo "::warning::the record has no summary, for the reason above"
fi
case $code in
0) ;;
3) echo "::error::a gate was breached" ;;
4)
    if ! did_their_work; then
        echo "::error::nothing valid was measured, the campaign was broken off, or a contender did" \
            "not do its work; see the log"
    elif are_strict; then
        echo "::error::a number is not valid, or the rounds cannot tell, and the arguments have --strict"
    elif [ "${BAKEOFF_UNDECIDED:-warn}" = warn ]; then
        echo "::warning::the rounds cannot tell; add rounds, or use a quieter machine"
        exit 0
    else
        echo "::error::the rounds cannot tell"
    fi
    ;;
*) echo "::error::bakeoff ended with $code" ;;
esac
exit "$code"
