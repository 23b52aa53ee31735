#!/usr/bin/env bash
# Fuzzes all that reads input: `scripts/fuzz.sh [SECONDS] [TARGET...]`, by default every target for 60 seconds, as many at a time as
# there are processors (`JOBS=1` sets another number); for 0 seconds they are only built. Needs what scripts/setup.sh installs, and
# neither cargo-fuzz nor a nightly toolchain. What is found is kept in target/fuzz: interesting inputs in corpus/, inputs that fail
# in artifacts/.
#
# `SANITIZE=address scripts/fuzz.sh ...` does it under AddressSanitizer: some times slower, in builds of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
if [[ ! $seconds =~ ^[0-9]+$ ]]; then
  echo "usage: scripts/fuzz.sh [SECONDS] [TARGET...]" >&2
  exit 2
fi
shift || true
targets=("$@")
if [[ ${#targets[@]} -eq 0 ]]; then
  for file in fuzz/targets/*.rs; do
    targets+=("$(basename "$file" .rs)")
  done
fi
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
place=${CARGO_TARGET_DIR:-target}/fuzz
builds=$place
host=$(rustc -vV | sed -n 's/^host: //p')

# What `cargo fuzz --sanitizer none` passes; with --target, build scripts and macros are compiled without.
flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
flags+=" -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Cdebug-assertions"
limit=1024
if [[ ${SANITIZE:-} == address ]]; then
  flags+=" -Zsanitizer=address"
  builds=$place/address
  # The toolchain has it, though not as stable. Targets ask for memory that no machine has.
  export RUSTC_BOOTSTRAP=1 ASAN_OPTIONS=allocator_may_return_null=1
  # Freed memory is kept for a while.
  limit=2048
elif [[ -n ${SANITIZE:-} ]]; then
  echo "SANITIZE=$SANITIZE is not known; possible: address" >&2
  exit 2
fi
build=()
for target in "${targets[@]}"; do
  if [[ ! -f fuzz/targets/$target.rs ]]; then
    echo "there is no target $target; possible: $(cd fuzz/targets && printf '%s ' *.rs | sed 's/\.rs//g')" >&2
    exit 2
  fi
  build+=(--bin "$target")
done
# For hours all is optimised. For a minute each, the build takes longer than the runs: only what is in the readers' inner loops is.
if [[ $seconds -le 60 ]]; then
  build+=(--config profile.release.opt-level=0 --config profile.release.package.windlass-catalog.opt-level=0)
  build+=(--config profile.release.codegen-units=1)
  for package in libfuzzer-sys serde_json toml; do
    build+=(--config "profile.release.package.$package.opt-level=1")
  done
fi
start=$SECONDS
RUSTFLAGS=$flags cargo build --manifest-path fuzz/Cargo.toml --release --locked --quiet --target "$host" --target-dir "$builds" \
  "${build[@]}"
echo "fuzz targets built in $((SECONDS - start)) s"
# To the fuzzer, 0 seconds are for ever.
[[ $seconds -ne 0 ]] || exit 0

run() { # target: its log is kept, and its last numbers are printed
  local target=$1 log=$place/$1.log length=4096
  case $target in
    # Few calls and small blocks are as good as many and large ones, and more are tried.
    capi | emitter | front_end | options) length=512 ;;
    # A dump or a trace with all that may be in it.
    import) length=16384 ;;
  esac
  mkdir -p "$place/corpus/$target" "$place/artifacts/$target"
  local status=0
  "$builds/$host/release/$target" -max_total_time="$seconds" -rss_limit_mb="$limit" -timeout=30 -max_len="$length" \
    -artifact_prefix="$place/artifacts/$target/" -print_final_stats=1 "$place/corpus/$target" "fuzz/corpus/$target" \
    >"$log" 2>&1 || status=$?
  if [[ $status -ne 0 ]]; then
    # Nothing is in the log of one that was killed at once.
    { grep -v '^#' "$log" || true; } | tail -40 >&2
    echo "$target: FAILED; the input is in $place/artifacts/$target, the whole log is $log" >&2
    echo "  again: $builds/$host/release/$target $place/artifacts/$target/FILE" >&2
    return 1
  fi
  local done cov
  done=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  cov=$(grep -o 'cov: [0-9]* ft: [0-9]*' "$log" | tail -1) || cov="no coverage"
  echo "$target: $done executions in $seconds s, $cov, no failure"
}

failed=0
running=0
for target in "${targets[@]}"; do
  if [[ $running -ge $jobs ]]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
  run "$target" &
  running=$((running + 1))
done
while [[ $running -gt 0 ]]; do
  wait -n || failed=1
  running=$((running - 1))
done
exit $failed
