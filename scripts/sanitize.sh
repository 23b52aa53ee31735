#!/usr/bin/env bash
# Runs tests under sanitizers: `scripts/sanitize.sh [address|thread|miri]...`, by default all three, one after another. What each covers,
# and what none does, is in docs/verification.md.
#
# Needs what scripts/setup.sh installs. AddressSanitizer comes with the toolchain that rust-toolchain.toml names; for the other two rustup
# fetches a nightly of the same release.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# 1.95, as rust-toolchain.toml has it. Miri, and the standard library's source, which ThreadSanitizer wants instrumented.
nightly=nightly-2026-02-25
host=$(rustc -vV | sed -n 's/^host: //p')
place=$(realpath -m "${CARGO_TARGET_DIR:-target}")/sanitize

fetch_nightly() {
  rustc "+$nightly" --version >/dev/null 2>&1 && [[ -x $(rustc "+$nightly" --print sysroot)/bin/cargo-miri ]] ||
    rustup toolchain install "$nightly" --profile minimal --component miri,rust-src
}

sanitized() { # sanitizer, toolchain, cargo's options: tests with it, C and C++ too
  local runtime
  runtime=$(echo "$(rustc "+$2" --print target-libdir)"/librustc-*_rt."${1:0:1}"san.a)
  # Libraries that a program loads find the sanitizer's functions in it, and the sanitizer the C++ library's: both must be there.
  # With --target, build scripts and macros are compiled without.
  SANITIZER=$1 SANITIZER_RUNTIME=$runtime CC=$PWD/scripts/sanitized-cc CXX=$PWD/scripts/sanitized-cc \
    RUSTFLAGS="-Zsanitizer=$1 -Clink-args=-rdynamic -Clink-args=-Wl,--no-as-needed,-lstdc++" \
    CARGO_TARGET_DIR=$place/$1 WINDLASS_CACHE=$place/$1/cache WINDLASS_OPTIMISE=0 \
    cargo "+$2" test --target "$host" --locked --quiet --no-fail-fast "${@:3}"
}

# All but the last limit their own addresses, of which the sanitizers take most; that one measures what is faster.
unfit=(--skip a_policy_whose_threads_run_out_says_so --skip an_image_that_cannot_be_copied_says_so
  --skip a_check_that_finds_no_memory_says_so --skip overlap_is_tried_out)

address() {
  local stable
  stable=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
  # Tests ask for memory that no machine has; the sanitizer would end them.
  export RUSTC_BOOTSTRAP=1 ASAN_OPTIONS=allocator_may_return_null=1
  sanitized address "$stable" -p windlass-hazards -p windlass-runtime -p windlass-kernels -p windlass-c --lib --tests -- "${unfit[@]}"
  sanitized address "$stable" -p windlass-cosim --test verilator_models
}

thread() {
  fetch_nightly
  # Those with threads; memory as above.
  export TSAN_OPTIONS=allocator_may_return_null=1
  sanitized thread "$nightly" -Zbuild-std -p windlass-runtime -p windlass-kernels -p windlass-c -p windlass-cuda --lib --test runtime --test host_copies \
    --test scheduling --test run --test kernels --test rigid_body --test dynamic_network --test c --test fake_driver -- "${unfit[@]}"
  sanitized thread "$nightly" -Zbuild-std -p windlass-cosim --test verilator_models
}

miri() {
  fetch_nightly
  # Tests read their environment. Miri knows AVX2; vector instructions are where the hazard engine is unsafe.
  export CARGO_TARGET_DIR=$place/miri MIRIFLAGS=-Zmiri-disable-isolation
  [[ $host != x86_64-* ]] || export RUSTFLAGS=-Ctarget-feature=+avx2,+bmi1,+bmi2,+popcnt
  cargo "+$nightly" miri test --locked --quiet -p windlass-hazards --test brute_force -- every_vector
  cargo "+$nightly" miri test --locked --quiet -p windlass-runtime --test host_memory
}

what=("$@")
[[ ${#what[@]} -gt 0 ]] || what=(address thread miri)
for each in "${what[@]}"; do
  case $each in
    address | thread | miri) ;;
    *) echo "usage: scripts/sanitize.sh [address|thread|miri]..." >&2 && exit 2 ;;
  esac
done
for each in "${what[@]}"; do
  echo "== $each"
  # By themselves: what one sets is not for the next.
  ("$each")
done
