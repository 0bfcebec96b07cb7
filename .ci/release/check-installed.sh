#!/usr/bin/env bash
# Checks a `rospin` that was installed: that it starts, does what it is for, and brings its pages and completions along.
#
#   check-installed.sh               the one that a shell starts
#   check-installed.sh PREFIX        that of an archive, or below the folder that a package was unpacked to
#
# Runs outside of a checkout, too.
set -euo pipefail

prefix="${1:-}"
program="${prefix:+$prefix/bin/}rospin"
share="${prefix:-/usr}/share"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# Prints what is checked, and ends the check if it fails.
check() {
    local what="$1"
    shift
    if ! "$@" >output 2>&1; then
        cat output >&2
        echo "check-installed.sh: FAILED: $what" >&2
        exit 1
    fi
    echo "ok: $what"
}

check "it starts" "$program" --version
cat output
check "doctor measures the machine" "$program" doctor --quiet --duration 0.1
check "demo runs nodes" "$program" demo --quiet --seconds 1
cat >system.toml <<'SYSTEM'
name = "camera"
duration = "1 s"
cores = 1

[[executor]]
name = "main"
policy = "fixed-priority"

[[group]]
name = "node"

[[callback]]
name = "camera"
kind = "timer"
period = "10 ms"
execution = "2 ms"
priority = 1
deadline = "10 ms"
SYSTEM
check "simulate simulates" "$program" simulate system.toml --report simulation.html
check "analyze proves" "$program" analyze system.toml
network=(env ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST RMW_IMPLEMENTATION=rmw_cyclonedds_cpp)
check "topic list asks the network" "${network[@]}" "$program" topic list
# Returns false if none of the files has anything in it. Packages have other folders than archives, and compress pages.
is_there() {
    local file
    for file in "$@"; do
        if [ -s "$file" ]; then
            return
        fi
    done
    echo "none of these is there: $*"
    return 1
}
check "bash has completions" is_there "$share/bash-completion/completions/rospin"
check "zsh has completions" is_there "$share/zsh/site-functions/_rospin" "$share/zsh/vendor-completions/_rospin"
check "fish has completions" is_there "$share/fish/vendor_completions.d/rospin.fish"
for page in rospin rospin-analyze rospin-trace-record; do
    check "there is a page $page" is_there "$share/man/man1/$page.1" "$share/man/man1/$page.1.gz"
done
