#!/bin/sh
# Manual pages and completions of a program: packaging/share.sh PROGRAM FOLDER
set -eu
program=$1 folder=$2
mkdir -p "$folder/completions"
"$program" man --output "$folder/man"
"$program" completions bash >"$folder/completions/bakeoff.bash"
"$program" completions zsh >"$folder/completions/_bakeoff"
"$program" completions fish >"$folder/completions/bakeoff.fish"
