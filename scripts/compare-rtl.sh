#!/usr/bin/env bash
# Our RTL beside other people's, in one run of one flow: one table of area and clock.
#
#   scripts/compare-rtl.sh [--library osu018|nangate45|FILE.lib] [--quick] [--variants NAME,...] [--only TEXT] [DIR]
#
# DIR is a folder with their RTL, of which nothing is kept here. What is found in it by file name is taken at 8, 32 and 132 requesters:
# PULP common_cells' rr_arb_tree.sv or cc_rr_arb_tree.sv (with lzc.sv and cf_math_pkg.sv), OpenTitan's prim_arbiter_tree.sv. SystemVerilog is read
# by PyPI's pyosys (read_slang): set PYOSYS_PYTHON to a Python that has it. Any other design: `*.v` in DIR/plain, one file each,
# whose top module has the name of the file and a clock called clk_i, clk or clock.
# --only takes the designs whose label in the table has the text.
# Without DIR: ours, and the window that was written by hand (tests/handwritten/window.v).
set -euo pipefail

absolute() { # what the caller names, before this goes elsewhere
  case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s\n' "$PWD/$1" ;;
  esac
}

options=()
dir=
while (($#)); do
  case "$1" in
    --library)
      library=${2:?--library needs a name or a file}
      # A library's name is no file, as a rule.
      [[ ! -f $library ]] || library=$(absolute "$library")
      options+=(--library "$library")
      shift
      ;;
    --quick) options+=(--quick) ;;
    --variants) options+=(--variants "${2:?--variants needs names, as the report gives them}"); shift ;;
    --only) options+=(--only "${2:?--only needs a part of a label}"); shift ;;
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "compare-rtl.sh: there is no option $1; see --help" >&2; exit 2 ;;
    *) dir=$(absolute "$1") ;;
  esac
  shift
done
if [[ -n $dir && ! -d $dir ]]; then
  echo "compare-rtl.sh: $dir is no folder" >&2
  exit 2
fi

python=${PYOSYS_PYTHON:-python3}
[[ $python != */* ]] || python=$(absolute "$python")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

slang() { # output.v, top, arguments of read_slang...
  local out=$1 top=$2
  shift 2
  "$python" -c '
import sys
from pyosys import libyosys as ys
ys.yosys_setup()
for command in sys.argv[1:]:
    ys.run_pass(command)
' "read_slang --ignore-assertions -D SYNTHESIS -D COMMON_CELLS_ASSERTS_OFF --top $top $*" \
    "hierarchy -top $top" "proc" "flatten" "opt_clean" "rename -top ${top}" "write_verilog -noattr $out" \
    >"$work/slang.log" 2>&1
}

others=()
take() { # label, top, output, read_slang arguments...
  local label=$1 top=$2 out=$3
  shift 3
  if slang "$out" "$top" "$@"; then
    others+=("$label=$top=$out")
  else
    echo "compare-rtl.sh: $label left out; reading it said:" >&2
    tail -n 5 "$work/slang.log" >&2
  fi
}

if [[ -n $dir ]]; then
  first() { find "$dir" -name "$1" -type f | sort | head -n 1; }
  includes=$(find "$dir" -type d -name include -printf '-I %p ')
  for name in rr_arb_tree cc_rr_arb_tree; do
    file=$(first "$name.sv")
    [[ -n $file ]] || continue
    helpers=$(for helper in cf_math_pkg cc_math_pkg lzc cc_lzc; do first "$helper.sv"; done | tr '\n' ' ')
    for n in 8 32 132; do
      take "PULP $name, $n" "$name" "$work/${name}_$n.v" "$includes -G NumIn=$n -G DataWidth=1 $helpers $file"
    done
  done
  file=$(first prim_arbiter_tree.sv)
  if [[ -n $file ]]; then
    helpers=$(for helper in prim_util_pkg prim_assert; do first "$helper.sv"; done | tr '\n' ' ')
    for n in 8 32 132; do
      take "OpenTitan prim_arbiter_tree, $n" prim_arbiter_tree "$work/prim_$n.v" \
        "-I $(dirname "$file") $includes -G N=$n -G DW=1 -G EnDataPort=0 $helpers $file"
    done
  fi
  for file in "$dir"/plain/*.v; do
    [[ -e $file ]] || continue
    top=$(basename "$file" .v)
    others+=("$top=$top=$file")
  done
  if [[ ${#others[@]} -eq 0 ]]; then echo "compare-rtl.sh: nothing in $dir is known; see --help" >&2; fi
fi

cargo run --release --quiet --locked -p windlass-gen --example compare_rtl -- \
  "${options[@]}" tests/handwritten/window.v "${others[@]}"
