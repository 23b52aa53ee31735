#!/usr/bin/env bash
# The main job, from nothing: two front ends, today's CTA arbiter and the typed one, as Verilog, run under Verilator against the host
# runtime on a real kernel stream, and a report of area, latency and speed-up of the schedulers in them. Writes to build/demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/setup.sh
source scripts/setup.sh

cargo build --release --locked --quiet
windlass=${CARGO_TARGET_DIR:-target}/release/windlass
trace=workloads/brax-v1-ant-b256.ktrace.jsonl
out=build/demo
mkdir -p "$out"

for arbiter in single typed; do
  "$windlass" gen --block front_end --arbiter "$arbiter" --gpu rtx3070 --slots 32 --out "$out/$arbiter" >"$out/$arbiter.txt"
  head -1 "$out/$arbiter.txt"
done
"$windlass" report --window matrix,list --slots 32 --flow quick --trace "$trace" --out "$out" >/dev/null

echo
"$windlass" cosim "$trace" --timeline "$out/timeline.json"
sed -n '/^All designs/,$p' "$out/report.txt"
echo
echo "Verilog, file lists, metadata:  $out/single  $out/typed"
echo "Report:                         $out/report.txt  $out/report.html  $out/report.md  $out/report.json"
echo "Timeline for ui.perfetto.dev:   $out/timeline.json"
