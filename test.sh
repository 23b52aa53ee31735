#!/usr/bin/env bash
# All tests, from nothing: set-up, format, lints, documentation, tests, a minute of fuzzing for each reader. `--long` adds the long
# ones (a million cycles in lockstep of every block at every window size, proofs of larger sizes). CI runs exactly this.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

long=
case "${1:-}" in
  "") ;;
  --long) long=1 ;;
  *) echo "usage: ./test.sh [--long]" >&2; exit 2 ;;
esac

# shellcheck source=scripts/setup.sh
source scripts/setup.sh

times=()
tier() { # name, command...
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@"
  times+=("$name $((SECONDS - start)) s")
}

tier "format" cargo fmt --all --check
tier "format of the fuzz targets" cargo fmt --manifest-path fuzz/Cargo.toml --check
# Fetches and unpacks for most of its time: beside what compiles.
mkdir -p target/tmp
scripts/self-test.sh >target/tmp/self-test.log 2>&1 &
self_test=$!
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
said() { # process, log: what a job beside printed, once it has ended
  local status=0
  wait "$1" || status=$?
  cat "$2"
  return "$status"
}
tier "hazards without std" cargo check -p windlass-hazards --no-default-features --locked --quiet
tier "lints" cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
tier "scripts, the rest" said "$self_test" target/tmp/self-test.log
tier "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet
# Built by what the tests leave of the processors.
nice -n 19 scripts/fuzz.sh 0 >target/tmp/fuzz-build.log 2>&1 &
fuzz_build=$!
# The runtime runs with its lines counted; all else as it is: counters that several threads share make `windlass run` 40 times as slow, and
# the tests of its kernels and of the hazard engine up to ten times.
counted=(runtime)
# A model that is built here runs for some thousand cycles.
tier "tests" env WINDLASS_OPTIMISE=0 cargo test --workspace "${counted[@]/#/--exclude=windlass-}" --locked --quiet
tier "tests of the runtime, and which lines run" scripts/coverage.sh "${counted[@]/#/--package=windlass-}" --locked --quiet
tier "fuzz targets, the rest" said "$fuzz_build" target/tmp/fuzz-build.log
# A minute on the clock each, all at once.
tier "fuzzing" env JOBS=99 scripts/fuzz.sh 60
if [[ -n $long ]]; then
  tier "long lints of Verilog" env WINDLASS_LONG=1 cargo test --locked --test lint
  # Rust-hdl's simulator runs for hours: what it simulates is worth its minutes in the compiler.
  tier "long tests" env WINDLASS_LONG=1 cargo test --config profile.release.package.windlass-catalog.opt-level=3 \
    --workspace --locked --release --test lockstep -- --nocapture
  tier "long proofs" env WINDLASS_LONG=1 cargo test -p windlass-gen --locked --test prove -- --include-ignored --nocapture
  tier "long second forms" cargo test --locked --test semantics larger -- --ignored --nocapture
  tier "long synthesis" cargo test --workspace --locked --test explore --test synth_fpga -- --ignored --nocapture
  tier "long timing" env WINDLASS_LONG=1 cargo test --locked --test timing
  tier "long hazard tests" env WINDLASS_LONG=1 cargo test -p windlass-hazards --locked --release --tests -- --nocapture
fi

printf 'done: '
printf '%s; ' "${times[@]}"
echo "$SECONDS s in all"
