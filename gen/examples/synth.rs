//! Synthesizes and times any Verilog, ours or somebody else's, in the flow of `windlass report`:
//!
//! ```sh
//! cargo run -p windlass-gen --example synth -- [--quick] LIBRARY TOP FILE...
//! ```

use windlass_gen::report::synth::Variant;
use windlass_gen::report::{SynthOptions, library, synth};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut options = SynthOptions::default();
    if arguments.first().is_some_and(|a| a == "--quick") {
        options.variants = Variant::quick();
        arguments.remove(0);
    }
    let [library, top, files @ ..] = &arguments[..] else {
        return Err("usage: synth [--quick] LIBRARY TOP FILE...".into());
    };
    let mut design = Vec::new();
    for file in files {
        let name = file.rsplit('/').next().unwrap_or(file);
        design.push((name.to_string(), std::fs::read_to_string(file)?));
    }
    let report = synth(&design, top, &library::find(library)?, &options)?;
    println!("{}; {}; 1 GE = {}", report.tool, report.library, report.gate);
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
    Ok(())
}
