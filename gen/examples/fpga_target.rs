//! The FPGA target: a window of 32 slots and two round-robin arbiters for 132 SMs, alone and side by side; the window as it is, with
//! one pipeline stage more, and with one retire port and without kernel ids.
//!
//! `cargo run --release -p windlass-gen --example fpga_target [-- FAMILIES [SEEDS [SECONDS [WORD]]]]`: families and seeds of place and
//! route separated by commas, how long each run may take, and only the designs with this word in their names; `ice40 1,2,3 1200`
//! without any.

use std::time::Duration;
use windlass_catalog::{BlockSpec, Request};
use windlass_gen::synth::fpga::{Family, FpgaOptions, fpga, side_by_side, table};
use windlass_gen::{emit, output};
use windlass_rtl::port::Port;

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
    let word = arguments.next().unwrap_or_default();
    let request = Request::default();
    let block = |name, request| -> Result<emit::Design, Box<dyn std::error::Error>> {
        Ok(emit::emit(&*BlockSpec::new(name, request)?.hardware())?)
    };
    let window = block("window_matrix", request)?;
    let pipelined = block("window_matrix", Request { pipelined: true, ..request })?;
    let one_port = block("window_matrix", Request { retire_ports: 1, ..request })?;
    let arbiter = block("round_robin", Request { slots: 132, ..request })?;
    let designs = [
        ("window_matrix", vec![&window]),
        ("window_matrix_pipelined", vec![&pipelined]),
        ("window_matrix_without_ids", vec![&one_port]),
        ("round_robin_132", vec![&arbiter]),
        ("window_and_two_arbiters", vec![&window, &arbiter, &arbiter]),
        ("window_without_ids_and_two_arbiters", vec![&one_port, &arbiter, &arbiter]),
    ];
    let mut reports = Vec::new();
    for family in families.split(',') {
        for (name, parts) in designs.iter().filter(|(name, _)| name.contains(&word)) {
            let (files, ports) = beside(name, parts);
            reports.push(fpga(&files, name, &ports, family.parse::<Family>()?, &options)?);
        }
    }
    print!("{}", table(&reports, true));
    Ok(())
}

/// The designs side by side; where the name says so, without the ports for ids, of which the input is 0.
fn beside(name: &str, designs: &[&emit::Design]) -> (Vec<(String, String)>, Vec<Port>) {
    let without_ids = name.contains("without_ids");
    let id = |port: &Port| {
        port.name.starts_with("place_id_") || ["ins_id_i", "disp_id_o", "oldest_id_o"].contains(&&*port.name)
    };
    let ports: Vec<Vec<Port>> = designs
        .iter()
        .map(|d| d.top().ports.iter().filter(|p| !(without_ids && id(p))).cloned().collect())
        .collect();
    let parts: Vec<_> = designs
        .iter()
        .zip(&ports)
        .zip(["w", "a", "b"])
        .map(|((design, ports), prefix)| (prefix, design.top().name.as_str(), &ports[..]))
        .collect();
    let (mut text, ports) = side_by_side(name, &parts);
    if without_ids {
        text = text.replace(" u_w (", " u_w (.ins_id_i(8'd0), ");
    }
    let mut files: Vec<_> = designs.iter().flat_map(|design| output::verilog_files(design)).collect();
    // The same name is the same module.
    files.sort();
    files.dedup_by(|a, b| a.0 == b.0);
    files.push((format!("{name}.v"), text));
    (files, ports)
}
