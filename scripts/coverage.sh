#!/usr/bin/env bash
# Runs the tests and prints which lines of the Rust code ran: `scripts/coverage.sh [CARGO TEST OPTIONS...] [-- OPTIONS OF THE TESTS...]`,
# by default of the whole workspace. A table by file goes to target/coverage/lines.txt, the lines themselves to
# target/coverage/lines.lcov.
#
# Only the workspace's own crates are instrumented: what they depend on is built once, for this and for other tests. Needs rustup's
# llvm-tools, which it fetches; where they cannot be had the tests run all the same, and it says that nothing was counted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

options=("$@")
[[ ${#options[@]} -gt 0 ]] || options=(--workspace --locked --quiet)
host=$(rustc -vV | sed -n 's/^host: //p')
tools=$(rustc --print sysroot)/lib/rustlib/$host/bin
if [[ ! -x $tools/llvm-cov ]] && ! { command -v rustup >/dev/null && rustup component add llvm-tools; } >&2; then
  echo "rustup could not fetch llvm-tools: the tests run, and NO COVERAGE IS COUNTED" >&2
  exec cargo test "${options[@]}"
fi

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
place=$target/coverage
rm -rf "$place"
mkdir -p "$place"
export RUSTC_WORKSPACE_WRAPPER=$PWD/scripts/instrumented-rustc
# One file per program, into which all its runs are merged.
export LLVM_PROFILE_FILE=$place/%m.profraw
split=${#options[@]}
for i in "${!options[@]}"; do
  if [[ ${options[i]} == -- ]]; then
    split=$i
    break
  fi
done
for_cargo=("${options[@]:0:split}")
for_tests=("${options[@]:split + 1}")
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
  local log
  log=$(mktemp "$place/XXXXXX.log")
  if (cd "$1" && "$2" "${quiet[@]}" "${for_tests[@]}") >"$log" 2>&1; then
    printf '%s\n%s\n' "$(basename "$2")" "$(cat "$log")"
  else
    printf '%s FAILED\n%s\n' "$2" "$(cat "$log")" >&2
    return 1
  fi
}
# In most programs one test takes nearly all of the time, on one processor: two programs at a time. Where threads are timed, alone.
sed -n 's#.*"manifest_path":"\([^"]*\)/Cargo.toml".*"profile":{[^}]*"test":true}.*"executable":"\([^"]*\)".*#\1|\2#p' \
  "$place/built.json" >"$place/programs"
alone=()
while IFS='|' read -r folder program; do
  case $(basename "$program") in
    run-* | runtime-*)
      alone+=("$folder" "$program")
      continue
      ;;
  esac
  [[ $running -lt 2 ]] || wait_for_one
  run "$folder" "$program" &
  running=$((running + 1))
done <"$place/programs"
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

objects=()
while IFS= read -r program; do
  objects+=(--object "$program")
done < <(
  grep -o '"executable":"[^"]*"' "$place/built.json" | cut -d'"' -f4 | sort -u
  # The C interface runs as a shared library.
  grep -o '"[^"]*/libwindlass[^"]*\.so"' "$place/built.json" | tr -d '"' | sort -u
)
# A program that was killed may have left half a file.
"$tools/llvm-profdata" merge --sparse --failure-mode=all "$place"/*.profraw -o "$place/all.profdata"
report=("--instr-profile=$place/all.profdata" "${objects[@]}" --ignore-filename-regex='/(tests|benches|examples)/|/registry/|/rustc/')
count() { # A crate's tests and the crate itself have different bodies for some generic functions; of each, one is counted.
  "$tools/llvm-cov" "$@" 2> >(grep -v "functions have mismatched data" >&2)
}
count report "${report[@]}" --show-region-summary=false --show-branch-summary=false >"$place/lines.txt"
count export "${report[@]}" --format=lcov >"$place/lines.lcov"
rm -f "$place"/*.profraw
echo "coverage by file: ${place#"$PWD"/}/lines.txt"
tail -1 "$place/lines.txt"
