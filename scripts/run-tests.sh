#!/usr/bin/env bash
# `cargo test` with two programs at a time and one test of each at a time: `scripts/run-tests.sh [CARGO TEST OPTIONS...] [-- OPTIONS OF THE
# TESTS...]`. Cargo runs one program after another, and at the end of most of them one long test has a processor to itself while the other
# does nothing. All programs run, whatever fails.
#
# What was built is listed in target/tests/built.json, or in the folder that WINDLASS_TESTS names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

split=$#
for ((i = 1; i <= $#; i++)); do
  if [[ ${!i} == -- ]]; then
    split=$((i - 1))
    break
  fi
done
for_cargo=("${@:1:split}")
for_tests=("${@:split + 2}")
place=${WINDLASS_TESTS:-$(realpath -m "${CARGO_TARGET_DIR:-target}")/tests}
mkdir -p "$place"
rm -f "$place"/*.log
cargo test "${for_cargo[@]}" --no-run --message-format=json >"$place/built.json"
# To the examples in the documentation, cargo says it itself.
quiet=()
[[ " ${for_cargo[*]} " != *" --quiet "* ]] || quiet=(--quiet)

failed=
running=0
wait_for_one() {
  wait -n || failed=1
  running=$((running - 1))
}
run() { # folder, program: what it prints comes when it is done, so that two do not mix
  local log start=$SECONDS
  log=$(mktemp "$place/XXXXXX.log")
  if (cd "$1" && "$2" "${quiet[@]}" "${for_tests[@]}") >"$log" 2>&1; then
    printf '%s, %d s\n%s\n' "$(basename "$2")" $((SECONDS - start)) "$(cat "$log")"
    rm "$log"
  else
    printf '%s FAILED\n%s\n' "$2" "$(cat "$log")" >&2
    return 1
  fi
}
first=() others=() alone=()
while IFS='|' read -r folder program; do
  case $(basename "$program") in
    # The longest: whatever runs last, the other processor waits for.
    lockstep-* | prove-*) first+=("$folder" "$program") ;;
    # Threads are timed.
    run-* | runtime-*) alone+=("$folder" "$program") ;;
    *) others+=("$folder" "$program") ;;
  esac
done < <(sed -n 's#.*"manifest_path":"\([^"]*\)/Cargo.toml".*"profile":{[^}]*"test":true}.*"executable":"\([^"]*\)".*#\1|\2#p' "$place/built.json")
both=("${first[@]}" "${others[@]}")
for ((i = 0; i < ${#both[@]}; i += 2)); do
  [[ $running -lt 2 ]] || wait_for_one
  RUST_TEST_THREADS=1 run "${both[@]:i:2}" &
  running=$((running + 1))
done
while [[ $running -gt 0 ]]; do
  wait_for_one
done
for ((i = 0; i < ${#alone[@]}; i += 2)); do
  run "${alone[@]:i:2}" || failed=1
done
# The documentation's examples, but where the options choose among the programs.
if ! printf '%s\n' "${for_cargo[@]}" | grep -qE '^--(lib|bins?|tests?|examples?|bench(es)?|all-targets)(=|$)'; then
  cargo test --doc "${for_cargo[@]}" -- "${for_tests[@]}" || failed=1
fi
[[ -z $failed ]]
