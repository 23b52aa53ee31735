#!/usr/bin/env bash
# Everything that needs a GPU, in one go, in less than nine minutes.
#
#   scripts/gpu-check.sh --pack DIR [TRACES]   here: builds, and puts all that is needed into DIR (the traces of a folder, or the shipped ones)
#   scripts/gpu-check.sh DIR [OUT]             on a machine with an NVIDIA GPU, x86-64, without Rust or Verilator: runs it; results in OUT
#
# Checks: the device and the executor (images, events, marks, graphs, early launches, faults, hangs), every kernel of the library against its
# definition, the two programs, compute-sanitizer where it is installed; then what CUDA's calls cost, and every trace under every policy, twenty
# times in turn, with the memory compared. Ends with status 1 where anything was wrong.
set -euo pipefail

if [[ ${1:-} == --pack ]]; then
  dir=$(realpath -m "${2:?gpu-check.sh --pack: give a folder}")
  traces=${3:+$(realpath "$3")}
  cd "$(dirname "${BASH_SOURCE[0]}")/.."
  traces=${traces:-workloads}
  # shellcheck source=scripts/setup.sh
  source scripts/setup.sh
  target=${CARGO_TARGET_DIR:-target}
  cargo build --release --locked --quiet
  cargo build --release --locked --quiet -p windlass-cuda --examples
  mkdir -p "$dir/traces" "$dir/cache"
  cp "$traces"/*.ktrace.jsonl* "$dir/traces"
  for program in "$target/release/windlass" "$target/release/examples/probe" "$target/release/examples/kernels"; do
    cp "$program" "$dir"
    strip "$dir/$(basename "$program")"
  done
  # The C interface's tests of GPUs.
  cargo build --release --locked --quiet -p windlass-c
  strip -o "$dir/libwindlass_c.so" "$target/release/libwindlass_c.so"
  for test in cuda enqueue; do
    cc -std=c11 -O1 -I capi/include "capi/tests/$test.c" -o "$dir/c-$test" -L "$dir" -lwindlass_c '-Wl,-rpath,$ORIGIN'
  done
  cp scripts/gpu-check.sh "$dir"
  # The scheduler's Verilog, built here: the cache serves it where there is no Verilator.
  WINDLASS_CACHE=$dir/cache "$dir/windlass" run --no-work --policy window >/dev/null
  rm -rf "$dir/cache/runtime" "$dir/cache/locks" "$dir/cache/tmp"
  # And NVRTC, which a machine with a driver alone has not.
  if [[ -d ${nvrtc:-} ]]; then
    cp -r "$nvrtc" "$dir/cache/"
  else
    echo "gpu-check.sh: scripts/setup.sh has fetched no NVRTC, so there is none in the pack; the GPU's machine needs its own" >&2
  fi
  du -sh "$dir"
  exit 0
fi

dir=$(realpath "${1:?gpu-check.sh: give the folder that --pack made; see the top of this file}")
out=${2:-$dir/out}
mkdir -p "$out"
export WINDLASS_CACHE=$dir/cache
wrong=0
began=$SECONDS
step() { # name, command...
  local name=$1 start=$SECONDS status=0
  shift
  "$@" >"$out/$name.txt" 2>&1 || status=$?
  local verdict=ok
  if ((status)); then
    verdict="FAILED with status $status, see $out/$name.txt"
    wrong=1
    tail -n 5 "$out/$name.txt"
  fi
  echo "$name: $verdict, $((SECONDS - start)) s"
}

{
  date -u +%Y-%m-%d
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader
  grep -m1 'model name' /proc/cpuinfo
  nproc
} >"$out/machine.txt" 2>&1 || true
cat "$out/machine.txt"

# Whose NVRTC, and which driver.
"$dir/windlass" doctor >"$out/doctor.txt" 2>&1 || true
step calibrate "$dir/windlass" calibrate --out "$out/profile.toml"
step calibration "$dir/windlass" calibrate --json
step kernels timeout 100 "$dir/kernels"
run=(timeout 260 "$dir/windlass" run --executor cuda --gpu "$out/profile.toml" --policy all --verify --compare)
step compare "${run[@]}" "$dir/traces"
# Those of the pack that are there: the shipped traces are fewer.
shopt -s nullglob
brax=("$dir"/traces/brax-*.ktrace.jsonl*)
long_and_short=("$dir"/traces/nerf-*.ktrace.jsonl* "$dir"/traces/brax-v1-*.ktrace.jsonl*)
short=("$dir"/traces/brax-*256.ktrace.jsonl* "$dir"/traces/squeezenet*.ktrace.jsonl*)
shopt -u nullglob
step compare-renamed "${run[@]}" "${brax[@]}" --rename unlimited
# What two hardware queues, which windlass asks for, cost or give policies whose host waits (docs/measurements/gpu.md).
step queues-8 env CUDA_DEVICE_MAX_CONNECTIONS=8 timeout 60 "$dir/windlass" run --executor cuda --gpu "$out/profile.toml" \
  --policy serial,streams-ace,window --compare --repeats 10 "${long_and_short[@]}"
# What chains and early edges are worth (docs/measurements/gpu.md).
step plain timeout 60 "$dir/windlass" run --executor cuda --gpu "$out/profile.toml" --policy serial,streams,pdl,graph,graph-cached --verify \
  --compare --repeats 10 --launches kernels --no-early-edges "${short[@]}"
step forget bash -c '"$1" run --executor cuda --policy streams,graph,window --always-overlap --verify --forget 100; (($? == 1))' - "$dir/windlass"
step algorithm1 bash -c '"$1" run --executor cuda --policy streams,graph,window --always-overlap --verify --strict-algorithm1; (($? == 1))' - "$dir/windlass"
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
if [[ -n $sanitizer ]]; then
  for tool in memcheck racecheck initcheck synccheck; do
    step "sanitizer-$tool-run" timeout 60 "$sanitizer" --tool "$tool" --error-exitcode 9 \
      "$dir/windlass" run mix-reduction mix-fork --executor cuda --policy serial,streams,pdl,graph,graph-cached --scale 1024 --verify --repeats 2
  done
  # How many parameters a kernel takes is found by asking until there are no more, which is an error to the API alone.
  step sanitizer-memcheck-kernels timeout 90 "$sanitizer" --tool memcheck --report-api-errors no --error-exitcode 9 "$dir/kernels" --quick
  step sanitizer-racecheck-kernels timeout 90 "$sanitizer" --tool racecheck --error-exitcode 9 "$dir/kernels" --quick
else
  echo "SKIPPED: there is no compute-sanitizer here"
fi
step c-cuda timeout 60 "$dir/c-cuda"
step c-enqueue timeout 60 "$dir/c-enqueue"
step probe timeout 120 "$dir/probe"
echo "$((SECONDS - began)) s in all"
exit $wrong
