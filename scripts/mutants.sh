#!/usr/bin/env bash
# Mutants of every block at 8 slots and 8 SMs, one block after the other: the table of docs/measurements/mutation.md.
# scripts/mutants.sh [BLOCK ...]; WINDLASS names another program. What became of each mutant is in build/mutants/BLOCK.json.
set -euo pipefail
windlass=${WINDLASS:-}
# A path of the caller's is from where the caller is.
[[ $windlass != */* || $windlass == /* ]] || windlass=$PWD/$windlass
cd "$(dirname "$0")/.."
windlass=${windlass:-target/release/windlass}
mkdir -p build/mutants
if [ $# = 0 ]; then
  set -- find_first round_robin oldest_first window_matrix window_list upstream_load kernel_scheduler kernel_table sm_occupancy \
    sm_partitions cta_arbiter_single cta_arbiter_typed front_end
fi
for block; do
  case $block in
    sm_*) size="--sms 8" ;;
    cta_* | front_end) size="--slots 8 --sms 8" ;;
    *) size="--slots 8" ;;
  esac
  # A second run for what the first does not notice; grids of 65 536 CTAs take long.
  case $block in
    cta_*) again=3000000 ;;
    *) again=1000000 ;;
  esac
  case $block in
    cta_*) prove=6 ;;
    front_end) prove=3 ;;
    sm_occupancy) prove=10 ;;
    window_list | kernel_table) prove=20 ;;
    kernel_scheduler) prove=60 ;;
    *) prove=4 ;;
  esac
  json=build/mutants/$block.json
  # shellcheck disable=SC2086 # two words
  "$windlass" mutate --block "$block" $size --jobs 1 --again "$again" --prove "$prove" --json >"$json" || [ $? = 1 ]
  row="| \`$block\` |"
  for field in caught equivalent excluded late unreachable survived score_percent cycles seconds; do
    row+=" $(grep -o "\"$field\":\[\?[0-9.,]*" "$json" | head -1 | cut -d: -f2 | tr -d '[' | sed 's/,$//') |"
  done
  echo "$row"
done
