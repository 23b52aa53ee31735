//! `windlass gen`: a block as Verilog, with file list, FuseSoC core, metadata and timing constraints.

use crate::options::{BlockArgs, ResetArg};
use crate::{Failure, Outcome, command_line, options};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use windlass_catalog::BLOCKS;
use windlass_cosim::profile::Profile;
use windlass_gen::output::{self, Beside};
use windlass_gen::table::counted;
use windlass_gen::{
    axis, checker,
    emit::{self, Prefix},
    folder,
};

/// Arguments of `windlass gen`.
#[derive(Args)]
pub struct GenArgs {
    #[command(flatten)]
    block: BlockArgs,
    /// Take the number of SMs and what each has from a device profile, as `windlass cosim` does: rtx3060, rtx3070, rtx4090, a100,
    /// h100, h200, or a TOML file; --sms and --sm-* override it
    #[arg(long, value_name = "NAME|FILE")]
    gpu: Option<String>,
    /// Where to write
    #[arg(long, default_value = "build/gen", value_name = "DIR", value_parser = options::output())]
    out: PathBuf,
    /// Clocks, I/O budgets and pins, from which SDC, XDC, PCF and LPF are made; by default the built-in ones
    #[arg(long, value_name = "FILE.toml")]
    constraints: Option<PathBuf>,
    /// Cell library whose driving cell and load go into the SDC: osu018, nangate45, sg13g2, or another that --constraints has
    #[arg(long, value_name = "NAME")]
    library: Option<String>,
    /// What the names of all modules and files are to begin with, so that none is another design's: letters, digits and `_`
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<Prefix>,
    /// How registers take their reset, `rst_ni`
    #[arg(long, value_enum, default_value_t = ResetArg::Sync, value_name = "KIND")]
    reset: ResetArg,
    /// Write a checker too, for simulation: SystemVerilog that watches the ports of a front_end, and says which rule is broken by
    /// whom
    #[arg(long)]
    checker: bool,
    /// Write a testbench too, TOP_tb.v: a host and SMs around a front_end, which send, run and end random kernels and check what
    /// comes out
    #[arg(long)]
    testbench: bool,
    /// Write a module too, TOP_axis.v, around the design, that has its channels as AXI4-Streams
    #[arg(long)]
    axis: bool,
    /// Name the blocks and write nothing
    #[arg(long)]
    list: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Version of what `--json` prints.
const FORMAT_VERSION: u32 = 1;

/// What says where to write and what to print: without it, the same design gives the same bytes. True where a value follows.
const OTHER: [(&str, bool); 2] = [("--out", true), ("--json", false)];

/// Runs it.
pub fn run(args: &GenArgs) -> Result<Outcome, Failure> {
    let mut stdout = std::io::stdout().lock();
    if args.list {
        if args.json {
            let object = serde_json::json!({"format_version": FORMAT_VERSION, "blocks": BLOCKS});
            writeln!(stdout, "{object}")?;
        } else {
            writeln!(stdout, "{}", BLOCKS.join("\n"))?;
        }
        return Ok(Outcome::Done);
    }
    let spec = match &args.gpu {
        Some(_) if !args.block.has_sms()? => {
            return Err("--gpu says how many SMs there are and what each has, and this block has none".into());
        }
        Some(gpu) => args.block.spec_for(Profile::load(gpu)?.sm_params()?)?,
        None => args.block.spec()?,
    };
    let form = emit::Form { prefix: args.prefix.clone().unwrap_or_default(), reset: args.reset.into() };
    let design = emit::emit_as(&*spec.hardware(), &form)?;
    let constraints = options::constraints(args.constraints.as_deref(), None)?;
    let top = design.top();
    let constraints = constraints.resolve(spec.name(), &top.name, &top.ports)?;
    let mut beside = Beside {
        command: Some(command_line::without(&OTHER)),
        constraints: constraints.files(args.library.as_deref())?,
        ..Beside::default()
    };
    if args.checker {
        beside.checker =
            checker::files(spec, &design).map_err(|e| format!("{e}; the option is --checker"))?;
    }
    if args.testbench {
        let testbench = checker::testbench(spec, &design);
        beside.testbench = Some(testbench.map_err(|e| format!("{e}; the option is --testbench"))?);
    }
    let testbench = beside.testbench.as_ref().map(|(name, _)| name.clone());
    if args.axis {
        beside.axis = Some(axis::wrap(&design).map_err(|e| format!("{e}; the option is --axis"))?);
    }
    let files = output::files_with(&design, beside);
    let placed = folder::place(&files, &design.top().name, testbench.as_deref(), &args.out)
        .map_err(|e| format!("{e}; the option is --out"))?;
    placed.notes.iter().for_each(|note| eprintln!("note: {note}"));
    let written = placed.files;
    if args.json {
        let files: Vec<String> = written.iter().map(|p| p.display().to_string()).collect();
        let object = serde_json::json!({
            "format_version": FORMAT_VERSION,
            "top": design.top().name,
            "files": files,
        });
        writeln!(stdout, "{object}")?;
    } else {
        let modules = counted(design.modules().len(), "module");
        writeln!(stdout, "{} ({modules})", design.top().name)?;
        for path in written {
            writeln!(stdout, "  {}", path.display())?;
        }
    }
    Ok(Outcome::Done)
}
