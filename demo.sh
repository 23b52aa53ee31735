#!/usr/bin/env bash
# The main job, from nothing: two 32-slot schedulers as Verilog, run under Verilator against the host runtime on a real kernel
# stream, and a report of area, latency and speed-up. Writes to build/demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/setup.sh
source scripts/setup.sh

cargo build --release --locked --quiet
windlass=${CARGO_TARGET_DIR:-target}/release/windlass
trace=workloads/brax-v1-ant-b256.ktrace.jsonl
out=build/demo
mkdir -p "$out"

for window in matrix list; do
  "$windlass" gen --block kernel_scheduler --window "$window" --slots 32 --out "$out/$window" >"$out/$window.txt"
  head -1 "$out/$window.txt"
  "$windlass" cosim "$trace" --window "$window" --slots 32 --policy window \
    --timeline "$out/$window.timeline.json" >"$out/$window.cosim.txt"
done
"$windlass" report --window matrix,list --slots 32 --trace "$trace" --out "$out" >/dev/null

echo
"$windlass" cosim "$trace"
sed -n '/^All designs/,$p' "$out/report.txt"
echo
echo "Verilog, file lists, metadata:  $out/matrix  $out/list"
echo "Report:                         $out/report.txt  $out/report.md  $out/report.json"
echo "Timelines for ui.perfetto.dev:  $out/matrix.timeline.json  $out/list.timeline.json"
