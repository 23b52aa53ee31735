#!/usr/bin/env python3
"""Mutants of the registers of `windlass gen --axil`, against what is proved of them (tests/axil.rs): scripts/mutants-registers.py [HOW_MANY].

A mutant is caught where the proof fails, by five cycles or by induction. One that is not is compared with the design, by Yosys; what that does
not prove equal either is printed. Packets have two words and the queue two places. Needs what scripts/setup.sh installs.
"""
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "gen/src/axil"
CACHE = Path(os.environ.get("WINDLASS_CACHE") or Path.home() / ".cache/windlass")
TOP = "front_end_registers"
PATH = os.pathsep.join([*map(str, CACHE.glob("yices-*")), os.environ["PATH"]])


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": PATH})
    return done.stdout + done.stderr


def yosys(script):
    Path("run.ys").write_text(script)
    return run(os.environ.get("YOSYS") or "yosys", "run.ys")


def is_caught(mutant):
    yosys(f"read_rtlil design.il\n{mutant}\nprep -top {TOP}; flatten; memory_map; opt -fast; dffunmap; write_smt2 -wires mutant.smt2")
    solved = [run("yosys-smtbmc", "-s", "yices", "--noprogress", *how, "mutant.smt2") for how in (["-t", "5"], ["-i", "-t", "4"])]
    return any("Status: FAILED" in said for said in solved)


def is_equal(mutant):
    plain = "chformal -remove; opt_clean; memory_map; opt -fast; clean"
    said = yosys(
        f"read_rtlil design.il\n{plain}\nrename {TOP} gold\ndesign -stash gold\n"
        f"read_rtlil design.il\n{mutant}\n{plain}\nrename {TOP} gate\ndesign -stash gate\n"
        "design -copy-from gold -as gold gold\ndesign -copy-from gate -as gate gate\n"
        "equiv_make gold gate equiv\nhierarchy -top equiv\nequiv_simple -undef\nequiv_induct -undef -seq 3\nequiv_status\n"
    )
    return "Equivalence successfully proven" in said


def main():
    how_many = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    module, end = (ROOT / "registers.v").read_text().rsplit("endmodule", 1)
    properties = (ROOT / "properties.sv").read_text()
    Path("registers.sv").write_text(f"{module}\n{properties}\nendmodule{end}")
    # Aliases gone, for `mutate` changes one of them; nothing merged yet, for what design and properties share would change in both.
    yosys(
        f"read_verilog -formal -sv registers.sv\nchparam -set WORDS 2 -set QUEUE_BITS 1 {TOP}\nhierarchy -top {TOP}\nproc; opt_clean\n"
        f"write_rtlil design.il\nmutate -list {10 * how_many} -seed 1 -o list.txt\n"
    )
    lines = module.count("\n") + 1
    places = re.compile(r"-src registers\.sv:(\d+)")
    mutants = [m.strip() for m in Path("list.txt").read_text().splitlines()]
    mutants = [m for m in mutants if places.search(m) and all(int(line) < lines for line in places.findall(m))]
    random.seed(1)
    random.shuffle(mutants)
    mutants = mutants[:how_many]
    if is_caught(""):
        sys.exit("the proof fails without a mutant")
    alive = [mutant for mutant in mutants if not is_caught(mutant)]
    unknown = [mutant for mutant in alive if not is_equal(mutant)]
    print("\n".join(unknown))
    print(f"{len(mutants)} mutants, {len(mutants) - len(alive)} caught, {len(alive) - len(unknown)} equal, {len(unknown)} neither")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir(ROOT)
