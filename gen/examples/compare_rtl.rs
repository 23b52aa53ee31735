//! One flow over our RTL and over other people's, side by side: `scripts/compare-rtl.sh` calls it.
//!
//! `compare_rtl [--library NAME|FILE] [--quick] [--variants NAME,...] [--only TEXT] WINDOW.v [LABEL=TOP=FILE.v]...`: WINDOW.v is the
//! window written by hand; each further argument is a design of other people as plain Verilog; `--only` takes those whose label has
//! the text. Every design gets registers on all its ports, the same ones for all, so that the clock is that of what lies between.
//! Those that synthesis keeps are subtracted: of an input that nothing looks at it keeps none.

mod registered;

use registered::registered;
use std::path::Path;
use std::process::ExitCode;
use windlass_catalog::{BlockSpec, Request};
use windlass_gen::synth::{SynthOptions, SynthesisError, Variant, library, synth};
use windlass_gen::{emit, output};

type Failure = Box<dyn std::error::Error>;

/// A design to measure.
struct Candidate {
    label: String,
    top: String,
    files: Vec<(String, String)>,
    /// The clock period in ns that sizing aims at; none: as fast as it goes, whatever the area.
    goal_ns: Option<f64>,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut library_name = "nangate45".to_string();
    let mut options = SynthOptions::default();
    let mut only = String::new();
    let mut rest = Vec::new();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--library" => library_name = arguments.next().ok_or("--library needs a name or a file")?,
            "--quick" => options.variants = Variant::quick(),
            "--variants" => {
                let names = arguments.next().ok_or("--variants needs names, separated by commas")?;
                options.variants.retain(|v| names.split(',').any(|name| name == v.name));
            }
            "--only" => only = arguments.next().ok_or("--only needs a part of a label")?,
            _ => rest.push(argument),
        }
    }
    let window = rest.first().ok_or("name the window that was written by hand")?;
    let liberty = library::find(&library_name)?;

    let mut candidates = Vec::new();
    // Goals: what the best public designs do not reach.
    for (slots, goal_ns) in [(8, 0.250), (32, 0.345), (132, 0.435)] {
        let spec = BlockSpec::new("round_robin", Request { slots, ..Request::default() })?;
        candidates.push(ours(spec, goal_ns)?);
    }
    let ways = [
        (32, 1, false, 0.476),
        (32, 2, false, 0.476),
        (32, 1, true, 0.333),
        (64, 1, true, 0.4),
        (128, 1, true, 0.476),
    ];
    for (slots, retire_ports, pipelined, goal_ns) in ways {
        let request = Request { slots, retire_ports, pipelined, ..Request::default() };
        candidates.push(ours(BlockSpec::new("window_matrix", request)?, goal_ns)?);
    }
    let text = std::fs::read_to_string(window).map_err(|e| format!("{window}: {e}"))?;
    candidates.push(Candidate {
        label: "hand-written window, N = 32".into(),
        top: "handwritten_window".into(),
        files: vec![("window.v".into(), text)],
        goal_ns: Some(0.476),
    });
    for other in &rest[1..] {
        let mut words = other.splitn(3, '=');
        let (Some(label), Some(top), Some(path)) = (words.next(), words.next(), words.next()) else {
            return Err(format!("`{other}` is not LABEL=TOP=FILE.v").into());
        };
        let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
        candidates.push(Candidate {
            label: label.into(),
            top: top.into(),
            files: vec![("other.v".into(), text)],
            goal_ns: None,
        });
    }

    println!("| design | kGE | kGE without port registers | fmax, MHz | flow |");
    println!("|---|---:|---:|---:|---|");
    for candidate in candidates.iter().filter(|candidate| candidate.label.contains(&only)) {
        let (text, _) = registered(&candidate.top, &candidate.files)
            .map_err(|error| format!("{}: {error}", candidate.label))?;
        let mut files = candidate.files.clone();
        files.push(("registered.v".into(), text));
        options.period_ns = candidate.goal_ns;
        let reports = synth(&files, "registered", &liberty, &options)
            .and_then(|report| Ok((report, flip_flops(candidate, &liberty, &options)?)));
        let (report, own) = match reports {
            Ok(reports) => reports,
            Err(error) => {
                println!("| {} | failed | | | {} |", candidate.label, error.to_string().replace('\n', " "));
                continue;
            }
        };
        let flip_flop = smallest_flip_flop(&liberty)?;
        for (result, what) in [(report.fastest(), "fastest"), (report.smallest(), "smallest")] {
            let Some(result) = result else { continue };
            let total = result.total.unwrap_or_default();
            let outside = total.flip_flops.saturating_sub(own) as f64 * flip_flop / report.gate_um2;
            println!(
                "| {} | {:.2} | {:.2} | {} | {} ({what}), {}, {} |",
                candidate.label,
                total.gate_equivalents / 1000.0,
                (total.gate_equivalents - outside) / 1000.0,
                result.fmax_mhz().map_or("-".into(), |mhz| format!("{mhz:.0}")),
                result.name,
                report.tool.split(" (").next().unwrap_or_default(),
                report.library,
            );
        }
    }
    Ok(())
}

fn ours(spec: BlockSpec, goal_ns: f64) -> Result<Candidate, Failure> {
    let design = emit::emit(&*spec.hardware())?;
    let top = design.top().name.clone();
    Ok(Candidate {
        label: format!("Windlass {top}"),
        files: output::verilog_files(&design),
        top,
        goal_ns: Some(goal_ns),
    })
}

/// Those of the design itself, without registers on its ports.
fn flip_flops(candidate: &Candidate, liberty: &Path, options: &SynthOptions) -> Result<u64, SynthesisError> {
    let mut options = options.clone();
    options.variants.retain(|variant| variant.name == "area");
    if options.variants.is_empty() {
        options.variants = Variant::quick();
    }
    options.period_ns = None;
    let report = synth(&candidate.files, &candidate.top, liberty, &options)?;
    Ok(report.smallest().and_then(|result| result.total).map_or(0, |total| total.flip_flops))
}

fn smallest_flip_flop(liberty: &Path) -> Result<f64, Failure> {
    let library = windlass_netlist::liberty::Library::load(liberty)?;
    Ok(library.smallest_flip_flop().ok_or("the library has no flip-flop")?)
}
