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
  exec scripts/run-tests.sh "${options[@]}"
fi

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
place=$target/coverage
rm -rf "$place"
mkdir -p "$place"
export RUSTC_WORKSPACE_WRAPPER=$PWD/scripts/instrumented-rustc
# One file per program, into which all its runs are merged.
export LLVM_PROFILE_FILE=$place/%m.profraw
WINDLASS_TESTS=$place scripts/run-tests.sh "${options[@]}"

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
