//! `windlass doctor`: which external tools are there, which are missing, how to get them.

use crate::{Failure, Outcome};
use clap::Args;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use windlass_cuda::CompileError;
use windlass_gen::prove;
use windlass_gen::synth::wires::{COLOQUINTE_VERSION, Coloquinte};
use windlass_gen::synth::{PYOSYS_VERSION, Yosys};
use windlass_gen::tools::{Found, TABLE, ToolError, ToolInfo, find};
use windlass_netlist::liberty::{self, LibertyError};
use windlass_runtime::run::DeviceError;

/// Arguments of `windlass doctor`.
#[derive(Args)]
pub struct DoctorArgs {
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

const FORMAT_VERSION: u32 = 1;

const FROM_PYPI: &str = "           scripts/setup.sh installs it from PyPI";

/// Runs it: status 1 where something that a command needs is missing.
pub fn run(args: &DoctorArgs) -> Result<Outcome, Failure> {
    let mut stdout = std::io::stdout().lock();
    let mut missing = false;
    let mut tools = Vec::new();
    for info in TABLE {
        let found = find(info.tool);
        missing |= info.required && found.is_err();
        match args.json {
            true => tools.push(tool_json(info, &found)),
            false => print_tool(&mut stdout, info, &found)?,
        }
    }
    let others = Others::find();
    missing |= others.library.is_err();
    match args.json {
        true => writeln!(stdout, "{}", others.json(&tools))?,
        false => others.print(&mut stdout)?,
    }
    Ok(if missing { Outcome::Wrong } else { Outcome::Done })
}

/// A line: how it is (`ok`, `optional` or `MISSING`), the name, and what there is to say.
fn line(out: &mut dyn Write, how: &str, name: &str, text: std::fmt::Arguments<'_>) -> std::io::Result<()> {
    writeln!(out, "{how:<8} {name:<15} {text}")
}

fn installs(info: &ToolInfo) -> Vec<String> {
    let everywhere = info.install_everywhere().into_iter();
    everywhere.map(|(system, command)| format!("{system}: {command}")).collect()
}

fn tool_json(info: &ToolInfo, found: &Result<Found, ToolError>) -> Value {
    json!({
        "name": info.name,
        "purpose": info.purpose,
        "required": info.required,
        "minimum": info.minimum_text(),
        "found": found.as_ref().ok().map(|f| f.path.display().to_string()),
        "version": found.as_ref().ok().map(|f| f.version_line.clone()),
        "error": found.as_ref().err().map(ToString::to_string),
        "install": installs(info),
    })
}

fn print_tool(out: &mut dyn Write, info: &ToolInfo, found: &Result<Found, ToolError>) -> std::io::Result<()> {
    let minimum = info.minimum_text();
    match found {
        Ok(Found { version_line, path, .. }) => {
            line(out, "ok", info.name, format_args!("{version_line} ({}), needs {minimum}", path.display()))
        }
        Err(error) => {
            let how = if info.required { "MISSING" } else { "optional" };
            line(out, how, info.name, format_args!("needed to {}; needs {minimum}", info.purpose))?;
            writeln!(out, "           {}", error.to_string().replace('\n', "\n           "))?;
            installs(info).iter().try_for_each(|install| writeln!(out, "           {install}"))
        }
    }
}

/// What is not in the table of tools, for it is no program or has no place on `PATH`.
struct Others {
    pyosys: Option<Yosys>,
    bitwuzla: Option<String>,
    coloquinte: Option<Coloquinte>,
    library: Result<PathBuf, LibertyError>,
    driver: Result<String, DeviceError>,
    nvrtc: Result<(String, PathBuf), CompileError>,
}

impl Others {
    fn find() -> Self {
        Self {
            pyosys: Yosys::pyosys(),
            bitwuzla: prove::bitwuzla_version(),
            coloquinte: Coloquinte::find(),
            library: liberty::default_path(),
            driver: windlass_cuda::driver_version(),
            nvrtc: windlass_cuda::nvrtc_version(),
        }
    }

    /// The whole object.
    fn json(&self, tools: &[Value]) -> Value {
        let Self { pyosys, bitwuzla, coloquinte, library, driver, nvrtc } = self;
        json!({
            "format_version": FORMAT_VERSION,
            "tools": tools,
            "pyosys": pyosys.as_ref().map(|y| y.version.clone()),
            "bitwuzla": bitwuzla,
            "coloquinte": coloquinte.as_ref().map(|c| c.version.clone()),
            "cell_library": library.as_ref().ok().map(|p| p.display().to_string()),
            "cuda_driver": driver.as_ref().ok(),
            "cuda_driver_error": driver.as_ref().err().map(ToString::to_string),
            "nvrtc": nvrtc.as_ref().ok().map(|(version, file)| format!("{version} ({})", file.display())),
            "nvrtc_error": nvrtc.as_ref().err().map(ToString::to_string),
            "cell_library_error": library.as_ref().err().map(ToString::to_string),
        })
    }

    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        match &self.pyosys {
            Some(Yosys { version, program, .. }) => {
                line(out, "ok", "pyosys", format_args!("{version} ({})", program.display()))?
            }
            None => line(
                out,
                "optional",
                "pyosys",
                format_args!(
                    "needed to synthesize better and twice as fast; needs {PYOSYS_VERSION}\n{FROM_PYPI}"
                ),
            )?,
        }
        match &self.bitwuzla {
            Some(version) => line(out, "ok", "Bitwuzla", format_args!("{version}"))?,
            None => line(
                out,
                "optional",
                "Bitwuzla",
                format_args!(
                    "needed to prove windows several times as fast; needs {}\n{FROM_PYPI}",
                    prove::BITWUZLA_VERSION
                ),
            )?,
        }
        match &self.coloquinte {
            Some(Coloquinte { version, .. }) => line(out, "ok", "Coloquinte", format_args!("{version}"))?,
            None => line(
                out,
                "optional",
                "Coloquinte",
                format_args!(
                    "needed to place cells, for `report --wires`; needs {COLOQUINTE_VERSION}\n{FROM_PYPI}"
                ),
            )?,
        }
        match &self.library {
            Ok(path) => line(out, "ok", "cell library", format_args!("{}", path.display()))?,
            Err(error) => line(out, "MISSING", "cell library", format_args!("{error}"))?,
        }
        match &self.driver {
            Ok(version) => line(out, "ok", "NVIDIA driver", format_args!("for CUDA {version}"))?,
            Err(error) => {
                let text = format_args!("needed to run kernels on a GPU: {error}");
                line(out, "optional", "NVIDIA driver", text)?;
            }
        }
        match &self.nvrtc {
            Ok((version, file)) => line(out, "ok", "NVRTC", format_args!("{version} ({})", file.display())),
            Err(error) => {
                line(out, "optional", "NVRTC", format_args!("needed to compile CUDA kernels: {error}"))
            }
        }
    }
}
