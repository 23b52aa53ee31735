//! The FPGA target: a window of 32 slots and two round-robin arbiters for 132 SMs, alone and side by
//! side.
//!
//! `cargo run --release -p windlass-gen --example fpga_target [-- FAMILIES [SEEDS [SECONDS]]]`: families and seeds of place and route
//! separated by commas, and how long each run may take; `ice40 1,2,3 1200` without any.

use std::time::Duration;
use windlass_catalog::{BlockSpec, Request};
use windlass_gen::synth::fpga::{Family, FpgaOptions, fpga, side_by_side, table};
use windlass_gen::{emit, output};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let families = arguments.next().unwrap_or_else(|| "ice40".into());
    let mut options = FpgaOptions::default();
    if let Some(seeds) = arguments.next() {
        options.seeds = seeds.split(',').map(str::parse).collect::<Result<_, _>>()?;
    }
    if let Some(seconds) = arguments.next() {
        options.limit = Duration::from_secs(seconds.parse()?);
    }
    let request = Request::default();
    let window = emit::emit(&*BlockSpec::new("window_matrix", request)?.hardware())?;
    let arbiter = BlockSpec::new("round_robin", Request { slots: 132, ..request })?;
    let arbiter = emit::emit(&*arbiter.hardware())?;
    let (w, a) = (window.top(), arbiter.top());
    let parts = [("w", &*w.name, &*w.ports), ("a", &*a.name, &*a.ports), ("b", &*a.name, &*a.ports)];
    let (text, ports) = side_by_side("window_and_two_arbiters", &parts);
    let mut all = output::verilog_files(&window);
    all.extend(output::verilog_files(&arbiter));
    // Both have a find_first of their own; the same name is the same module.
    all.sort();
    all.dedup_by(|a, b| a.0 == b.0);
    all.push(("window_and_two_arbiters.v".into(), text));
    let designs = [
        (output::verilog_files(&window), w.name.as_str(), &*w.ports),
        (output::verilog_files(&arbiter), a.name.as_str(), &*a.ports),
        (all, "window_and_two_arbiters", &*ports),
    ];
    let mut reports = Vec::new();
    for family in families.split(',') {
        for (files, top, ports) in &designs {
            reports.push(fpga(files, top, ports, family.parse::<Family>()?, &options)?);
        }
    }
    print!("{}", table(&reports, true));
    Ok(())
}
