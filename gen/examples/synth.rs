//! Synthesizes and times any Verilog, ours or somebody else's, in the flow of `windlass report`:
//!
//! ```sh
//! cargo run -p windlass-gen --example synth -- \
//!     [--quick] [--variants NAME,...] [--period NS] [--clock-gates] [--registered] [--wires] LIBRARY TOP FILE...
//! ```
//!
//! With `--registered` all ports get registers: the clock is that of what lies between, and the area is that of the whole; how much of
//! it the registers are, at the smallest flip-flop's area, is printed too.

mod registered;

use registered::registered;
use windlass_gen::constraints::Constraints;
use windlass_gen::synth::{SynthOptions, Variant, library, synth};
use windlass_netlist::liberty::Library;

const USAGE: &str = "usage: synth [--quick] [--variants NAME,...] [--period NS] [--clock-gates] [--registered] [--wires] LIBRARY TOP FILE...";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut options = SynthOptions::default();
    let (mut with_registers, mut with_wires, mut rest) = (false, false, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => options.variants = Variant::quick(),
            "--variants" => {
                let names = arguments.next().ok_or(USAGE)?;
                options.variants.retain(|v| names.split(',').any(|name| name == v.name));
            }
            "--period" => options.period_ns = Some(arguments.next().ok_or(USAGE)?.parse()?),
            "--clock-gates" => options.clock_gates = true,
            "--registered" => with_registers = true,
            "--wires" => with_wires = true,
            _ => rest.push(argument),
        }
    }
    let [name, top, files @ ..] = &rest[..] else { return Err(USAGE.into()) };
    let liberty = library::find(name)?;
    if with_wires {
        let cells = Library::load(&liberty)?;
        let constraints = Constraints::embedded();
        options.wires = constraints.library(&cells.name)?.1.wires;
    }
    let mut design = Vec::new();
    for file in files {
        let name = file.rsplit('/').next().unwrap_or(file);
        design.push((name.to_string(), std::fs::read_to_string(file)?));
    }
    let mut top = top.as_str();
    let mut bits = 0;
    if with_registers {
        let (text, registers) = registered(top, &design)?;
        design.push(("registered.v".into(), text));
        (top, bits) = ("registered", registers);
    }
    let report = synth(&design, top, &liberty, &options)?;
    println!("{}; {}; 1 GE = {}", report.tool, report.library, report.gate);
    if let Some(gated) = report.gated {
        println!("{gated} flip-flops are behind clock gates");
    }
    if with_registers {
        let flip_flop =
            Library::load(&liberty)?.smallest_flip_flop().ok_or("the library has no flip-flop")?;
        println!("of that {:.1} GE in {bits} registers on ports", bits as f64 * flip_flop / report.gate_um2);
    }
    for result in &report.results {
        let ge = result.total.map_or(f64::NAN, |t| t.gate_equivalents);
        let mhz = result.fmax_mhz().unwrap_or(f64::NAN);
        println!("{:<16} {ge:>10.1} GE  {mhz:>8.1} MHz", result.name);
        if let Some(failure) = &result.failure {
            println!("{failure}");
        }
    }
    println!("fastest: {}; smallest: {}", report.fastest, report.smallest);
    for path in report.fastest().and_then(|r| r.timing.as_ref()).into_iter().flat_map(|t| &t.paths) {
        println!("{:<22} {:.3} ns  {} -> {}", path.class, path.min_period_ns, path.from, path.to);
    }
    for netlist in report.wired.iter().flat_map(|wired| &wired.netlists) {
        let [width, height] = netlist.core_um;
        println!(
            "{:<16} {:>10.1} GE  {:>8.1} MHz  {width:.0} x {height:.0} um, {:.1} mm of wire in {} nets, the longest {:.0} um",
            if netlist.sized { "sized for wires" } else { "with wires" },
            netlist.total.gate_equivalents,
            netlist.fmax_mhz().unwrap_or(f64::NAN),
            netlist.wires_mm,
            netlist.nets,
            netlist.longest_um
        );
    }
    for path in report.wired().into_iter().flat_map(|netlist| &netlist.timing.paths) {
        println!("{:<22} {:.3} ns  {} -> {}", path.class, path.min_period_ns, path.from, path.to);
    }
    println!("netlists: {}", report.key);
    Ok(())
}
