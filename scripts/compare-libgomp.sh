#!/usr/bin/env bash
# What libgomp takes per task whose dependencies it infers (`depend`), on this machine: the same numbers of reads and writes per
# kernel as the benchmark of windlass-hazards, in tasks that do nothing, so that all of the time is the runtime's.
set -euo pipefail

cc=${CC:-gcc}
if ! command -v "$cc" >/dev/null; then
  echo "SKIPPED: no $cc here; install gcc to compare with libgomp" >&2
  exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/depend.c" <<'C'
#include <omp.h>
#include <stdio.h>

enum { BUFFERS = 64, TASKS = 2000, ROUNDS = 200 };
static char b[BUFFERS];
static unsigned s = 1;
static int pick(void) { s = s * 1664525u + 1013904223u; return (s >> 16) % BUFFERS; }

int main(void) {
  double best6 = 1e9, best10 = 1e9;
#pragma omp parallel num_threads(1)
#pragma omp single
  for (int round = 0; round < ROUNDS; round++) {
    double start = omp_get_wtime();
    for (int t = 0; t < TASKS; t++) {
      int i0 = pick(), i1 = pick(), i2 = pick(), i3 = pick(), o0 = pick(), o1 = pick();
#pragma omp task depend(in : b[i0], b[i1], b[i2], b[i3]) depend(out : b[o0], b[o1])
      { __asm__ volatile(""); }
    }
#pragma omp taskwait
    double ns = (omp_get_wtime() - start) * 1e9 / TASKS;
    if (ns < best6) best6 = ns;
    start = omp_get_wtime();
    for (int t = 0; t < TASKS; t++) {
      int i0 = pick(), i1 = pick(), i2 = pick(), i3 = pick(), i4 = pick(), i5 = pick();
      int o0 = pick(), o1 = pick(), o2 = pick(), o3 = pick();
#pragma omp task depend(in : b[i0], b[i1], b[i2], b[i3], b[i4], b[i5]) depend(out : b[o0], b[o1], b[o2], b[o3])
      { __asm__ volatile(""); }
    }
#pragma omp taskwait
    ns = (omp_get_wtime() - start) * 1e9 / TASKS;
    if (ns < best10) best10 = ns;
  }
  printf("libgomp depend, one thread, empty tasks, best of %d rounds: %.0f ns per task with 4 in, 2 out; %.0f ns with 6 in, 4 out\n",
         ROUNDS, best6, best10);
}
C
if ! "$cc" -O2 -fopenmp "$dir/depend.c" -o "$dir/depend" 2>"$dir/log"; then
  echo "SKIPPED: $cc has no OpenMP here:" >&2
  cat "$dir/log" >&2
  exit 0
fi
"$cc" --version | head -1
"$dir/depend"
