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
    axil, axis, checker,
    emit::{self, Prefix},
    folder,
};

/// Arguments of `windlass gen`.
#[derive(Args)]
pub struct GenArgs {
    #[command(flatten)]
    block: BlockArgs,
    /// Take the number and limits of the SMs from a device profile: rtx3060, rtx3070, rtx4090, a100, h100, h200, or a TOML file; --sms
    /// and --sm-* override it
    #[arg(long, value_name = "NAME|FILE")]
    gpu: Option<String>,
    /// Folder for the files
    #[arg(long, default_value = "build/gen", value_name = "DIR", value_parser = options::output())]
    out: PathBuf,
    /// Constraints file with the clocks, I/O budgets and pins for SDC, XDC, PCF and LPF [default: the built-in constraints]
    #[arg(long, value_name = "FILE.toml")]
    constraints: Option<PathBuf>,
    /// Cell library whose driving cell and load go into the SDC: osu018, nangate45, sg13g2, or another one that the constraints file
    /// has
    #[arg(long, value_name = "NAME")]
    library: Option<String>,
    /// Prefix of all module and file names, so that they differ from another design's: letters, digits and `_`
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<Prefix>,
    /// How registers take the reset, `rst_ni`
    #[arg(help_heading = options::HARDWARE, long, value_enum, default_value_t = ResetArg::Sync, value_name = "KIND")]
    reset: ResetArg,
    /// Also write a checker for simulation: SystemVerilog that watches the ports of a front_end and reports which side breaks which
    /// rule
    #[arg(long)]
    checker: bool,
    /// Also write the checker's rules as named properties for formal tools, in which those of each side are assumed or asserted
    #[arg(long)]
    formal: bool,
    /// Also write a testbench, TOP_tb.v: a host and SMs around a front_end, which send, run and end random kernels and check the
    /// outputs
    #[arg(long)]
    testbench: bool,
    /// Also write TOP_axis.v: a module around the design that has its channels as AXI4-Streams
    #[arg(long)]
    axis: bool,
    /// Also write TOP_axil.v: a module around a front_end that has registers on an AXI4-Lite bus for software and AXI4-Streams for the SMs;
    /// a C header for the registers, and TOP_axil.rdl, their description in SystemRDL. Includes --axis
    #[arg(long)]
    axil: bool,
    /// Print the names of the blocks and write nothing
    #[arg(long)]
    list: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Version of what `--json` prints.
const FORMAT_VERSION: u32 = 1;

/// What says where to write and what to print: without it, the same design gives the same bytes.
const OTHER: [&str; 2] = ["--out", "--json"];

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
            return Err(
                "--gpu sets the number and limits of the SMs, but this block has no SMs; leave --gpu out"
                    .into(),
            );
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
        arguments: spec.arguments(),
        constraints: constraints.files(args.library.as_deref())?,
        ..Beside::default()
    };
    if args.checker {
        beside.checker = checker::files(spec, &design).map_err(|e| format!("{e} (option --checker)"))?;
    }
    if args.formal {
        beside.formal = checker::formal_files(spec, &design).map_err(|e| format!("{e} (option --formal)"))?;
    }
    if args.testbench {
        let testbench = checker::testbench(spec, &design);
        beside.testbench = Some(testbench.map_err(|e| format!("{e} (option --testbench)"))?);
    }
    let testbench = beside.testbench.as_ref().map(|(name, _)| name.clone());
    if args.axis || args.axil {
        let option = if args.axis { "--axis" } else { "--axil" };
        let mut axis = axis::wrap(&design).map_err(|e| format!("{e} (option {option})"))?;
        let library = args.library.as_deref();
        if args.axil {
            let mut axil = axil::wrap(spec, &design, &axis).map_err(|e| format!("{e} (option --axil)"))?;
            axil.constraints = constraints.outside(axil.outside(&design, &axis)).files(library)?;
            beside.axil = Some(axil);
        }
        axis.constraints = constraints.outside(axis.outside(&design)).files(library)?;
        beside.axis = Some(axis);
    }
    let files = output::files_with(&design, beside);
    let placed = folder::place(&files, &design.top().name, testbench.as_deref(), &args.out)
        .map_err(|e| format!("{e} (option --out)"))?;
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
