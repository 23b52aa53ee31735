#!/usr/bin/env bash
# Installs what Windlass needs and this machine lacks: on Debian and Ubuntu with apt, without asking. Says what and why first.
# Does nothing, in no time, when everything is there.
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }

packages=()
need() { # command or file, Debian package, why
  if [[ $1 == /* ]]; then
    # A file, or a pattern of files.
    compgen -G "$1" >/dev/null && return
  else
    command -v "$1" >/dev/null && return
  fi
  say "missing: $2 ($3)"
  packages+=("$2")
}

need verilator verilator "simulates the generated Verilog"
need g++ g++ "compiles what Verilator writes"
need yosys yosys "synthesizes the Verilog, for its area"
need iverilog iverilog "a second opinion on the Verilog, in the tests"
need '/usr/share/qflow/tech/osu018/osu018_stdcells.lib' qflow-tech-osu018 "the osu018 cell library, to measure area with"
need /usr/include/zlib.h zlib1g-dev "FST waveforms"
need make make "builds the plain C++ loop of the benchmark"
need cc gcc "compiles zstd for the trace reader"

if [[ ${#packages[@]} -gt 0 ]]; then
  if ! command -v apt-get >/dev/null; then
    say "This script installs with apt-get, on Debian and Ubuntu. Here, install these yourself:"
    case "$(uname -s)" in
      Darwin) say "  brew install verilator yosys icarus-verilog gcc zlib" ;;
      *) say "  Fedora: sudo dnf install verilator yosys iverilog gcc-c++ make zlib-devel"
         say "  Arch:   sudo pacman -S verilator yosys iverilog gcc make zlib" ;;
    esac
    say "and a cell library in Liberty form, for 'windlass report --liberty FILE'."
    exit 2
  fi
  root=()
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      say "Not root, and no sudo: run this as root: apt-get install ${packages[*]}"
      exit 2
    fi
    root=(sudo)
  fi
  say "installing: ${packages[*]}"
  export DEBIAN_FRONTEND=noninteractive
  "${root[@]}" apt-get update -qq
  "${root[@]}" apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
fi

# Rust: the toolchain file says which; rustup fetches it on the first call of cargo.
if ! command -v cargo >/dev/null && [[ -x ${CARGO_HOME:-$HOME/.cargo}/bin/cargo ]]; then
  export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
fi
if ! command -v cargo >/dev/null; then
  say "missing: Rust. Install it with rustup, then run this again:"
  say "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y"
  exit 2
fi
