//! Where a report goes: stdout, files, and beside an older one.

use crate::output_file::{OutputFile, is_same, unwritable};
use crate::{Failure, Outcome, command_line, options};
use clap::{Args, ValueEnum};
use std::io::Write;
use std::path::{Path, PathBuf};
use windlass_files::new_file;
use windlass_gen::report::{Format, Report, baseline, figure, html, markdown_with_figures, render};

/// `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    /// Aligned tables
    Text,
    /// One JSON object
    Json,
    /// Markdown
    Md,
}

/// The options that say what is measured, which a report that is there already does not do: all of `report` but those below.
const MEASURING: [&str; 36] = [
    "block",
    "rtl",
    "jump",
    "window",
    "slots",
    "retire_ports",
    "pipelined",
    "scheduled",
    "encoding",
    "lanes",
    "arbiter",
    "active",
    "places",
    "hold_idle",
    "trace",
    "gpu",
    "dispatcher",
    "clock_gates",
    "wires",
    "reset",
    "front_end_mhz",
    "driver_launch",
    "kernel_end",
    "rename",
    "library",
    "liberty",
    "flow",
    "period",
    "constraints",
    "no_area",
    "energy",
    "energy_cycles",
    "fpga",
    "fpga_seeds",
    "fpga_limit",
    "jobs",
];

/// Options of the report's form.
#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Format of the printed report
    #[arg(long, value_enum, default_value = "text")]
    format: FormatArg,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Also write the report as one HTML page with figures, which needs no other file
    #[arg(long, value_name = "FILE", value_parser = options::output())]
    html: Option<PathBuf>,
    /// Also write report.txt, report.json, report.md and report.html into this folder, and each figure as SVG and CSV into its
    /// subfolder figures
    #[arg(long, value_name = "DIR", value_parser = options::output())]
    out: Option<PathBuf>,
    /// Measure nothing, but read the report from a file of `windlass report --json`
    #[arg(long, value_name = "FILE.json", conflicts_with_all = MEASURING)]
    from: Option<PathBuf>,
    /// Compare with an older report; the exit status is 1 if area, fmax, energy, FPGA, latency or speed-up is worse by more than
    /// --margin
    #[arg(long, value_name = "OLD.json")]
    baseline: Option<PathBuf>,
    /// How much worse --baseline lets a value be, in percent
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = baseline::margin, requires = "baseline")]
    margin: f64,
}

/// The options, with what had to be read and made before anything is measured.
pub struct Output<'a> {
    args: &'a OutputArgs,
    baseline: Option<Report>,
    stored: Option<Report>,
}

/// Options that say where a report goes, how it is shown and how fast it comes, and not what is in it.
const OUTPUT: [&str; 7] = ["--format", "--json", "--html", "--out", "--baseline", "--margin", "--jobs"];

const FIGURES: &str = "figures";

/// What `--out` has beside the figures.
const FILES: [&str; 4] = ["report.txt", "report.json", "report.md", "report.html"];

impl OutputArgs {
    /// Reads and makes what can fail, so that it fails before the long work.
    pub fn prepare(&self) -> Result<Output<'_>, Failure> {
        let read = |path: &Option<PathBuf>| path.as_deref().map(baseline::read).transpose();
        let output = Output { args: self, baseline: read(&self.baseline)?, stored: read(&self.from)? };
        // Begun and not kept: no file changes, and what cannot be written is known.
        if let Some(directory) = &self.out {
            let figures = directory.join(FIGURES);
            std::fs::create_dir_all(&figures).map_err(|e| unwritable(&figures, &e, "--out"))?;
            for name in FILES {
                // A report that is worse would be the baseline of the next one.
                if let Some(baseline) =
                    self.baseline.as_deref().filter(|old| is_same(old, &directory.join(name)))
                {
                    return Err(format!(
                        "--baseline {} is one of the files that --out replaces; keep the baseline elsewhere, or choose another --out",
                        baseline.display()
                    )
                    .into());
                }
                OutputFile::begin(&directory.join(name), "--out")?;
            }
        }
        if let Some(path) = &self.html {
            OutputFile::begin(path, "--html")?;
        }
        Ok(output)
    }
}

impl Output<'_> {
    /// The report that is there already.
    pub fn stored(&self) -> Option<Report> {
        self.stored.clone()
    }

    /// Prints the report and writes its files.
    pub fn write(&self, mut report: Report) -> Result<Outcome, Failure> {
        let compared = self.baseline.as_ref().map(|old| baseline::compare(old, &report, self.args.margin));
        let is_compared = compared.is_some();
        if is_compared {
            // One that a stored report came with is replaced.
            report.baseline = None;
        }
        let (mut worse, mut nothing) = (false, None);
        match compared {
            Some(Ok(changes)) => {
                worse = changes.is_worse();
                report.baseline = Some(changes);
            }
            // The report is good all the same, and was costly.
            Some(Err(error)) => nothing = Some(error),
            None => {}
        }
        let args = self.args;
        let format = match args.format {
            FormatArg::Text if args.json => Format::Json,
            FormatArg::Json => Format::Json,
            FormatArg::Text => Format::Text,
            FormatArg::Md => Format::Markdown,
        };
        // Neither keeps the other from being done: both are what the work was for.
        let printed = std::io::stdout().lock().write_all(render(&report, format)?.as_bytes());
        let saved = self.save(&report);
        if let Some(error) = nothing {
            saved?;
            printed?;
            return Err(error.into());
        }
        if let Some(changes) = report
            .baseline
            .filter(|c| is_compared && (worse || format == Format::Json || !c.notes.is_empty()))
        {
            for note in &changes.notes {
                eprintln!("note: {note}");
            }
            eprintln!("{}: {}", if worse { "worse" } else { "baseline" }, changes.summary());
        }
        saved?;
        printed?;
        Ok(if worse { Outcome::Wrong } else { Outcome::Done })
    }

    /// Writes the files: all that can be, and then says which could not.
    fn save(&self, report: &Report) -> Result<(), Failure> {
        let mut failed = Vec::new();
        let mut save = |path: &Path, text: &str| {
            if let Err(e) = new_file::save(path, text) {
                failed.push(format!("{}: {e}", path.display()));
            }
        };
        if let Some(file) = &self.args.html {
            save(file, &html::page(report, None));
        }
        if let Some(directory) = &self.args.out {
            forget_figures(directory);
            let texts = [
                render(report, Format::Text)?,
                render(report, Format::Json)?,
                markdown_with_figures(report, FIGURES),
                html::page(report, Some(FIGURES)),
            ];
            for (name, text) in FILES.iter().zip(&texts) {
                save(&directory.join(name), text);
            }
            for (_, figure) in figure::figures(report) {
                save(&directory.join(FIGURES).join(format!("{}.svg", figure.id)), &figure.svg);
                save(&directory.join(FIGURES).join(format!("{}.csv", figure.id)), &figure.csv);
            }
        }
        if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
    }
}

/// An older report here may have had figures that this one has not: its own go, and nothing else.
fn forget_figures(directory: &Path) {
    let Ok(old) = baseline::read(&directory.join("report.json")) else { return };
    for (_, figure) in figure::figures(&old) {
        for ending in ["svg", "csv"] {
            // It may be gone already.
            let _ = std::fs::remove_file(directory.join(FIGURES).join(format!("{}.{ending}", figure.id)));
        }
    }
}

/// The command line, without what does not change the report.
pub fn command() -> String {
    command_line::without(&OUTPUT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::{Arg, CommandFactory};
    use std::collections::BTreeSet;

    #[test]
    fn each_option_of_a_report_is_of_its_form_or_measures() {
        let mut command = Cli::command();
        command.build();
        let report = command.find_subcommand("report").expect("a command");
        let form = OutputArgs::augment_args(clap::Command::new("form"));
        let form: BTreeSet<&str> = form.get_arguments().map(|arg| arg.get_id().as_str()).collect();
        let names = |args: &mut dyn Iterator<Item = &Arg>| -> BTreeSet<String> {
            args.map(|arg| arg.get_id().to_string()).collect()
        };
        let others = |arg: &&Arg| !form.contains(arg.get_id().as_str()) && *arg.get_id() != "help";
        let from = report.get_arguments().find(|arg| *arg.get_id() == "from").expect("an option");
        assert_eq!(
            names(&mut report.get_arg_conflicts_with(from).into_iter()),
            names(&mut report.get_arguments().filter(others))
        );
        let output: BTreeSet<&str> = OUTPUT.iter().map(|option| option.trim_start_matches('-')).collect();
        let form = form.into_iter().filter(|option| *option != "from").chain(["jobs"]);
        assert_eq!(output, form.collect());
    }
}
