//! A design on disk: one file per module, a file list, a FuseSoC core, and JSON metadata.

use crate::axil::{Axil, REGISTERS};
use crate::axis::{Axis, Stream};
use crate::emit::{Design, LICENSE, Module, Prefix};
use crate::verilog::direction;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use windlass_files::new_file;
use windlass_rtl::port::{Port, element};

/// Version of the JSON beside a design; it changes when a field changes its meaning or goes.
pub const METADATA_VERSION: u32 = 2;

/// What belongs to a design and is written beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// The command line that writes it all, for the metadata.
    pub command: Option<String>,
    /// The block and its parameters, as on the command line ([`BlockSpec::arguments`](windlass_catalog::BlockSpec::arguments)), for the metadata.
    pub arguments: Vec<String>,
    /// Constraints: names and texts.
    pub constraints: Vec<(String, String)>,
    /// A checker in SystemVerilog: names and texts.
    pub checker: Vec<(String, String)>,
    /// The same rules in SystemVerilog for formal tools: names and texts.
    pub formal: Vec<(String, String)>,
    /// A testbench, whose module has the file's name: name and text.
    pub testbench: Option<(String, String)>,
    /// The design with AXI4-Streams.
    pub axis: Option<Axis>,
    /// A front end with registers, around that.
    pub axil: Option<Axil>,
}

fn names(files: &[(String, String)]) -> Vec<&str> {
    files.iter().map(|(name, _)| name.as_str()).collect()
}

/// A file that could not be written.
#[derive(Debug, Error)]
#[error("{}: {source}; choose another directory, or make this one writable", path.display())]
pub struct WriteError {
    /// The file or directory.
    pub path: PathBuf,
    /// Why not.
    pub source: io::Error,
}

#[derive(Serialize)]
struct Metadata<'a> {
    format_version: u32,
    generator: String,
    license: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    arguments: &'a [String],
    top: &'a str,
    source: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    variant: BTreeMap<&'static str, &'a str>,
    parameters: BTreeMap<&'a str, usize>,
    clock: Option<&'a str>,
    reset: Option<ResetMetadata<'a>>,
    files: Vec<&'a str>,
    constraints: Vec<&'a str>,
    checker: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    formal: Vec<&'a str>,
    testbench: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    axis: Option<AxisMetadata<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    axil: Option<AxilMetadata<'a>>,
    ports: Vec<PortMetadata<'a>>,
    /// Of each output port, the input ports that it depends on in the same cycle.
    combinational: &'a BTreeMap<String, Vec<String>>,
    modules: Vec<ModuleMetadata<'a>>,
}

#[derive(Serialize)]
struct ResetMetadata<'a> {
    name: &'a str,
    active: &'static str,
    kind: &'static str,
}

#[derive(Serialize)]
struct AxisMetadata<'a> {
    top: &'a str,
    file: &'a str,
    constraints: Vec<&'a str>,
    streams: &'a [Stream],
}

#[derive(Serialize)]
struct AxilMetadata<'a> {
    top: &'a str,
    files: [&'a str; 2],
    header: &'a str,
    rdl: &'a str,
    constraints: Vec<&'a str>,
    packet_words: u32,
    registers: Vec<RegisterMetadata>,
}

#[derive(Serialize)]
struct RegisterMetadata {
    name: &'static str,
    offset: u32,
    access: &'static str,
    description: String,
}

#[derive(Serialize)]
struct PortMetadata<'a> {
    name: &'a str,
    direction: &'static str,
    width: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    channel: &'a str,
    /// `valid`, `ready` or `payload` of a channel.
    #[serde(skip_serializing_if = "str::is_empty")]
    role: &'static str,
    /// Of an array of ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
}

#[derive(Serialize)]
struct ModuleMetadata<'a> {
    name: &'a str,
    file: String,
    parameters: BTreeMap<&'a str, usize>,
    instances: BTreeMap<&'a str, &'a str>,
}

fn parameters(module: &Module) -> BTreeMap<&str, usize> {
    module.params.iter().map(|(name, value)| (name.as_str(), *value)).collect()
}

/// The macro that says that a module was read, which is called `name` without its prefix. The prefix stays as it is: another one may differ
/// in its case alone.
pub(crate) fn guard(prefix: &Prefix, name: &str) -> String {
    format!("WINDLASS_{}{}", prefix.as_str(), name.to_uppercase())
}

fn file_name(module: &Module) -> String {
    format!("{}.v", module.name)
}

/// The design's files: name and text, the Verilog first, in the order in which tools should read them.
pub fn files(design: &Design) -> Vec<(String, String)> {
    files_with(design, Beside::default())
}

/// The same with what belongs to the design, which the FuseSoC core and the metadata then name too.
pub fn files_with(design: &Design, beside: Beside) -> Vec<(String, String)> {
    let top = design.top();
    // Designs that share a module name its file in each of their lists: a tool that reads both meets it twice.
    let once = |m: &Module| {
        let guard = guard(design.prefix(), design.unprefixed(m));
        format!("{}\n`ifndef {guard}\n`define {guard}\n{}`endif\n", design.header(m), body(m))
    };
    let verilog: Vec<(String, String)> = design.modules.iter().map(|m| (file_name(m), once(m))).collect();
    let list =
        |files: &[(String, String)]| names(files).iter().map(|name| format!("{name}\n")).collect::<String>();
    let simulated = list(&beside.checker) + &list(beside.testbench.as_slice());
    let all = list(&verilog);
    let core = core_file(top, &names(&verilog), &beside);
    let json = metadata(design, &names(&verilog), &beside);
    let mut files = verilog;
    if !simulated.is_empty() {
        files.push((format!("{}_sim.f", top.name), format!("{all}{simulated}")));
    }
    if !beside.formal.is_empty() {
        files.push((format!("{}_formal.f", top.name), format!("{all}{}", list(&beside.formal))));
    }
    if let Some(axis) = &beside.axis {
        files.push((format!("{}_axis.f", top.name), format!("{all}{}\n", axis.file.0)));
        if let Some(Axil { file, registers, .. }) = &beside.axil {
            let list = format!("{all}{}\n{}\n{}\n", axis.file.0, registers.0, file.0);
            files.push((format!("{}_axil.f", top.name), list));
        }
    }
    files.push((format!("{}.f", top.name), all));
    files.push((format!("{}.core", top.name), core));
    files.push((format!("{}.json", top.name), json));
    files.extend(beside.constraints);
    files.extend(beside.checker);
    files.extend(beside.formal);
    files.extend(beside.testbench);
    if let Some(axis) = beside.axis {
        files.push(axis.file);
        files.extend(axis.constraints);
    }
    if let Some(axil) = beside.axil {
        files.extend([axil.registers, axil.file, axil.header, axil.rdl]);
        files.extend(axil.constraints);
    }
    files
}

/// The Verilog files alone, for a tool that reads one design: without what lets a file be read twice.
pub fn verilog_files(design: &Design) -> Vec<(String, String)> {
    let text = |m: &Module| format!("{}\n{}", design.header(m), body(m));
    design.modules.iter().map(|m| (file_name(m), text(m))).collect()
}

/// A misspelt name must not become a wire; what is read after the file may count on it.
fn body(module: &Module) -> String {
    format!("`default_nettype none\n\n{}\n`default_nettype wire\n", module.text)
}

/// Writes the design's files into `directory`, which is made if it is not there; returns their paths.
pub fn write(design: &Design, directory: &Path) -> Result<Vec<PathBuf>, WriteError> {
    write_files(&files(design), directory)
}

/// Writes `files`, name and text, into `directory`, which is made if it is not there; returns their paths.
pub fn write_files(files: &[(String, String)], directory: &Path) -> Result<Vec<PathBuf>, WriteError> {
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |source| WriteError { path, source }
    };
    std::fs::create_dir_all(directory).map_err(failed(directory))?;
    let mut written = Vec::new();
    for (name, text) in files {
        let path = directory.join(name);
        new_file::save(&path, text).map_err(failed(&path))?;
        written.push(path);
    }
    Ok(written)
}

/// The kinds of constraints that a FuseSoC core can name: ending, file type, and for which tools.
const CORE_CONSTRAINTS: [(&str, &str, &str); 4] = [
    ("sdc", "SDC", "!tool_vivado? (sdc)"),
    ("xdc", "xdc", "tool_vivado? (xdc)"),
    ("pcf", "PCF", "tool_icestorm? (pcf)"),
    ("lpf", "LPF", "tool_trellis? (lpf)"),
];

fn core_file(top: &Module, files: &[&str], beside: &Beside) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        "CAPI=2:\n# SPDX-License-Identifier: {LICENSE}\nname: windlass:generated:{0}:{version}\ndescription: {0}, generated by Windlass\n\nfilesets:\n  rtl:\n    files:\n",
        top.name
    );
    for file in files {
        text.push_str(&format!("      - {file}\n"));
    }
    text.push_str("    file_type: verilogSource\n");
    let mut sets = Vec::new();
    for (ending, kind, when) in CORE_CONSTRAINTS {
        let named = |(name, _): &&(String, String)| name.ends_with(&format!(".{ending}"));
        if let Some((name, _)) = beside.constraints.iter().find(named) {
            text.push_str(&format!("  {ending}:\n    files:\n      - {name}\n    file_type: {kind}\n"));
            sets.push(format!(", \"{when}\""));
        }
    }
    // For the simulations of whoever's core depends on this one: where the target is called `sim`, or has the flag. Named once, for two
    // that are the same would be two modules.
    let mut simulated = "";
    if !beside.checker.is_empty() {
        let files: String = names(&beside.checker).iter().map(|file| format!("      - {file}\n")).collect();
        text.push_str(&format!("  checker:\n    files:\n{files}    file_type: systemVerilogSource\n"));
        simulated = ", \"target_sim? (checker)\", \"!target_sim? (windlass_checker? (checker))\"";
    }
    // Another top, for whoever's core depends on this one: by the flag.
    let mut wrapped = "";
    if let Some(Axis { file: (name, _), .. }) = &beside.axis {
        text.push_str(&format!("  axis:\n    files:\n      - {name}\n    file_type: verilogSource\n"));
        wrapped = ", \"windlass_axis? (axis)\"";
    }
    if let Some(Axil { file, registers, .. }) = &beside.axil {
        text.push_str(&format!(
            "  axil:\n    files:\n      - {}\n      - {}\n    file_type: verilogSource\n",
            registers.0, file.0
        ));
        wrapped = ", \"windlass_axis? (axis)\", \"windlass_axil? (axis)\", \"windlass_axil? (axil)\"";
    }
    if let Some((name, _)) = &beside.testbench {
        text.push_str(&format!("  testbench:\n    files:\n      - {name}\n    file_type: verilogSource\n"));
    }
    text.push_str(&format!(
        "\ntargets:\n  default: &default\n    filesets: [rtl{simulated}{wrapped}]\n    toplevel: {0}\n  lint:\n    <<: *default\n    default_tool: verilator\n    tools:\n      verilator:\n        mode: lint-only\n        verilator_options: [-Wall]\n",
        top.name
    ));
    // Without a testbench it is put together only, with the checker where there is one.
    let (tool, run) = match &beside.testbench {
        None => ("verilator", String::new()),
        Some((name, _)) => {
            let checker = if beside.checker.is_empty() { "" } else { ", checker" };
            let top = name.trim_end_matches(".v");
            ("icarus", format!("    filesets: [rtl{checker}, testbench]\n    toplevel: {top}\n"))
        }
    };
    text.push_str(&format!(
        "  sim:\n    <<: *default\n{run}    default_tool: {tool}\n    tools:\n      icarus:\n        iverilog_options: [-g2012]\n      verilator:\n        mode: lint-only\n        verilator_options: [--assert, --timing]\n"
    ));
    // Not in the default target: inside another design the ports are no ports.
    if !sets.is_empty() {
        let sets = sets.concat();
        text.push_str(&format!("  synth:\n    <<: *default\n    filesets: [rtl{sets}]\n"));
    }
    text
}

/// What a module's name says beside its numbers.
fn variant(name: &str) -> BTreeMap<&'static str, &str> {
    let words = [
        ("window", &["matrix", "list"][..]),
        ("encoding", &["ids", "mask"]),
        ("arbiter", &["single", "typed"]),
    ];
    let said = |(what, of): (&'static str, &[&str])| {
        name.split('_').find(|word| of.contains(word)).map(|word| (what, word))
    };
    words.into_iter().filter_map(said).collect()
}

/// What a port is to its channel.
pub(crate) fn role(port: &Port) -> &'static str {
    let Some(rest) =
        port.name.strip_prefix(&format!("{}_", port.channel)).filter(|_| !port.channel.is_empty())
    else {
        return "";
    };
    match rest.split('_').next() {
        Some("valid") => "valid",
        Some("ready") => "ready",
        _ => "payload",
    }
}

fn metadata(design: &Design, files: &[&str], beside: &Beside) -> String {
    let top = design.top();
    let data = Metadata {
        format_version: METADATA_VERSION,
        generator: format!("windlass {}", env!("CARGO_PKG_VERSION")),
        license: LICENSE,
        command: beside.command.as_deref(),
        arguments: &beside.arguments,
        top: &top.name,
        source: &top.source,
        variant: variant(design.unprefixed(top)),
        parameters: parameters(top),
        clock: top.clock(),
        reset: top.reset().map(|name| ResetMetadata {
            name,
            active: "low",
            kind: design.reset_kind().name(),
        }),
        files: files.to_vec(),
        constraints: names(&beside.constraints),
        checker: names(&beside.checker),
        formal: names(&beside.formal),
        testbench: beside.testbench.as_ref().map(|(name, _)| name.as_str()),
        axis: beside.axis.as_ref().map(|Axis { file: (file, _), streams, constraints }| AxisMetadata {
            top: file.trim_end_matches(".v"),
            file,
            constraints: names(constraints),
            streams,
        }),
        axil: beside.axil.as_ref().map(|axil| AxilMetadata {
            top: axil.file.0.trim_end_matches(".v"),
            files: [&axil.registers.0, &axil.file.0],
            header: &axil.header.0,
            rdl: &axil.rdl.0,
            constraints: names(&axil.constraints),
            packet_words: axil.words,
            registers: REGISTERS
                .iter()
                .map(|register| RegisterMetadata {
                    name: register.name,
                    offset: register.offset,
                    access: register.access.name(),
                    description: register.described(),
                })
                .collect(),
        }),
        ports: top
            .ports
            .iter()
            .map(|p| PortMetadata {
                name: &p.name,
                direction: direction(p),
                width: p.width,
                channel: &p.channel,
                role: role(p),
                index: element(&p.name).map(|(_, index)| index),
                description: &p.doc,
            })
            .collect(),
        combinational: &top.combinational,
        modules: design
            .modules
            .iter()
            .map(|m| ModuleMetadata {
                name: &m.name,
                file: file_name(m),
                parameters: parameters(m),
                instances: m.instances.iter().map(|(i, k)| (i.as_str(), k.as_str())).collect(),
            })
            .collect(),
    };
    // Serialising strings and numbers cannot fail.
    serde_json::to_string_pretty(&data).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emit::{self, ResetKind};
    use windlass_catalog::{BlockSpec, Request};

    fn design(name: &str) -> Design {
        let spec = BlockSpec::new(name, Request { slots: 4, ..Request::default() });
        emit::emit(&*spec.unwrap_or_else(|e| panic!("{e}")).hardware()).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn designs_that_share_a_module_write_the_same_file() {
        let (whole, part) =
            (verilog_files(&design("kernel_scheduler")), verilog_files(&design("window_matrix")));
        let shared = part.iter().filter(|(name, _)| whole.iter().any(|(other, _)| other == name)).count();
        assert_eq!(shared, part.len(), "the window is in the scheduler");
        for (name, text) in &part {
            assert!(whole.iter().any(|(other, same)| other == name && same == text), "{name}");
            let head = format!(
                "// SPDX-License-Identifier: MIT OR Apache-2.0\n// {}: generated",
                name.trim_end_matches(".v")
            );
            assert!(text.starts_with(&head), "{text}");
        }
    }

    /// So that what is proved and tested of the one is of the other, but for cycles in reset.
    #[test]
    fn an_asynchronous_reset_is_in_the_lists_of_events_and_changes_nothing_else() {
        for (name, has) in [("front_end", true), ("kernel_scheduler", true), ("oldest_first", false)] {
            let spec = BlockSpec::new(name, Request { slots: 4, sms: 4, ..Request::default() });
            let spec = spec.unwrap_or_else(|e| panic!("{e}"));
            let text = |reset| {
                let form = emit::Form { reset, ..emit::Form::default() };
                let design = emit::emit_as(&*spec.hardware(), &form).unwrap_or_else(|e| panic!("{e}"));
                let files = files_with(&design, Beside::default());
                files.into_iter().map(|(name, text)| format!("{name}\n{text}")).collect::<String>()
            };
            let [sync, other] = [ResetKind::Synchronous, ResetKind::Asynchronous].map(text);
            assert_eq!(
                other.contains("always @(posedge clk_i or negedge rst_ni) begin\n    if (!rst_ni)"),
                has
            );
            // Each process with a reset has it, and no other.
            assert_eq!(
                other.matches("or negedge rst_ni").count(),
                sync.matches("    if (!rst_ni) begin\n      ").count()
            );
            let back = other.replace(" or negedge rst_ni", "").replace("asynchronous", "synchronous");
            assert_eq!(back.replace("_arst", "").replace("_ARST", ""), sync, "{name}");
            let names = |text: &str| -> std::collections::BTreeSet<String> {
                let words = text.split_whitespace();
                let after = words.clone().skip(1);
                words.zip(after).filter(|(word, _)| *word == "module").map(|(_, name)| name.into()).collect()
            };
            assert!(names(&sync).is_disjoint(&names(&other)), "both may be in one netlist");
        }
    }

    #[test]
    fn a_prefix_stands_before_every_module_and_changes_nothing_else() {
        let spec = BlockSpec::new("front_end", Request { slots: 4, sms: 4, ..Request::default() });
        let spec = spec.unwrap_or_else(|e| panic!("{e}"));
        let texts = |prefix: &str| {
            let prefix =
                if prefix.is_empty() { Prefix::default() } else { prefix.parse().expect("a prefix") };
            let form = emit::Form { prefix, ..emit::Form::default() };
            let design = emit::emit_as(&*spec.hardware(), &form).unwrap_or_else(|e| panic!("{e}"));
            let checker = crate::checker::files(spec, &design).unwrap_or_else(|e| panic!("{e}"));
            let formal = crate::checker::formal_files(spec, &design).unwrap_or_else(|e| panic!("{e}"));
            files_with(&design, Beside { checker, formal, ..Beside::default() })
        };
        let (plain, prefixed) = (texts(""), texts("acme_"));
        assert_eq!(plain.len(), prefixed.len());
        for ((plain, text), (name, prefixed)) in plain.iter().zip(&prefixed) {
            assert_eq!(*name, format!("acme_{plain}"));
            assert_eq!(prefixed.replace("acme_", ""), *text, "{name}");
        }
        assert!(prefixed.iter().any(|(_, text)| text.contains("\nmodule acme_count_down (")));
        // Words of the prefix are none of the name's.
        let (_, data) =
            texts("list_").into_iter().find(|(name, _)| name.ends_with(".json")).expect("there is one");
        let data: serde_json::Value = serde_json::from_str(&data).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(data["variant"]["window"], "matrix");
        let guards = ["A_", "a_"].map(|prefix| guard(&prefix.parse().expect("a prefix"), "count_down"));
        assert_ne!(guards[0], guards[1]);
    }

    #[test]
    fn the_core_names_the_constraints_that_are_there() {
        let design = design("find_first");
        let core = |constraints: &[&str]| {
            let constraints = constraints.iter().map(|name| (name.to_string(), String::new())).collect();
            let files = files_with(&design, Beside { constraints, ..Beside::default() });
            let found = files.iter().find(|(name, _)| name.ends_with(".core"));
            found.map(|(_, text)| text.clone()).unwrap_or_default()
        };
        let with = core(&["find_first_n4.sdc", "find_first_n4.xdc", "find_first_n4.pcf"]);
        let sets = "  sdc:\n    files:\n      - find_first_n4.sdc\n    file_type: SDC\n  xdc:\n    files:\n      - find_first_n4.xdc\n";
        assert!(with.contains(sets), "{with}");
        let target =
            "filesets: [rtl, \"!tool_vivado? (sdc)\", \"tool_vivado? (xdc)\", \"tool_icestorm? (pcf)\"]";
        assert!(with.contains(target) && with.contains("filesets: [rtl]\n"), "{with}");
        assert!(!core(&[]).contains("synth:"));
    }

    #[test]
    fn the_core_names_the_checker_for_simulations() {
        let checker =
            ["front_end_checker.sv", "top_checker.sv"].map(|name| (name.to_string(), String::new()));
        let beside = Beside { checker: checker.to_vec(), ..Beside::default() };
        let files = files_with(&design("find_first"), beside);
        let core = files.iter().find(|(name, _)| name.ends_with(".core")).map(|(_, text)| text.as_str());
        let core = core.unwrap_or_default();
        let set = "  checker:\n    files:\n      - front_end_checker.sv\n      - top_checker.sv\n    file_type: systemVerilogSource\n";
        let sets =
            "filesets: [rtl, \"target_sim? (checker)\", \"!target_sim? (windlass_checker? (checker))\"]\n";
        assert!(
            core.contains(set) && core.contains(sets) && core.contains("\n  sim:\n    <<: *default\n"),
            "{core}"
        );
        assert_eq!(files.last().map(|(name, _)| name.as_str()), Some("top_checker.sv"));
        let list =
            |end: &str| files.iter().find(|(name, _)| name.ends_with(end)).map(|(_, text)| text.as_str());
        assert_eq!(list("n4_sim.f"), Some("find_first_n4.v\nfront_end_checker.sv\ntop_checker.sv\n"));
        assert_eq!(list("n4.f"), Some("find_first_n4.v\n"));
    }

    #[test]
    fn streams_are_another_top_for_those_who_ask() {
        let design = design("window_matrix");
        let axis = Some(crate::axis::wrap(&design).unwrap_or_else(|e| panic!("{e}")));
        let files = files_with(&design, Beside { axis, ..Beside::default() });
        let text = |end: &str| {
            let found = files.iter().find(|(name, _)| name.ends_with(end));
            found.map(|(_, text)| text.clone()).unwrap_or_default()
        };
        let top = &design.top().name;
        let set = format!("  axis:\n    files:\n      - {top}_axis.v\n    file_type: verilogSource\n");
        let core = text(".core");
        assert!(
            core.contains(&set) && core.contains("filesets: [rtl, \"windlass_axis? (axis)\"]\n"),
            "{core}"
        );
        assert!(!text(&format!("{top}.f")).contains("_axis.v"));
        assert_eq!(text("_axis.f"), text(&format!("{top}.f")) + &format!("{top}_axis.v\n"));
        let data: serde_json::Value = serde_json::from_str(&text(".json")).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(data["axis"]["file"], format!("{top}_axis.v"));
        assert!(data["axis"]["streams"].as_array().is_some_and(|streams| !streams.is_empty()), "{data}");
    }

    #[test]
    fn a_testbench_is_what_is_simulated() {
        let file = |name: &str| (name.to_string(), String::new());
        let testbench = Some(file("find_first_n4_tb.v"));
        let beside = |checker| Beside { checker, testbench: testbench.clone(), ..Beside::default() };
        for (checker, set) in [(vec![], "rtl, testbench"), (vec![file("c.sv")], "rtl, checker, testbench")] {
            let files = files_with(&design("find_first"), beside(checker));
            let text = |end: &str| {
                let found = files.iter().find(|(name, _)| name.ends_with(end));
                found.map(|(_, text)| text.clone()).unwrap_or_default()
            };
            let target = format!(
                "  sim:\n    <<: *default\n    filesets: [{set}]\n    toplevel: find_first_n4_tb\n    default_tool: icarus\n"
            );
            assert!(text(".core").contains(&target), "{}", text(".core"));
            assert!(text("_sim.f").ends_with("find_first_n4_tb.v\n") && !text("n4.f").contains("_tb"));
            assert!(text(".json").contains("\"testbench\": \"find_first_n4_tb.v\""), "{}", text(".json"));
        }
    }

    #[test]
    fn clock_and_reset_are_said_where_there_are_any() {
        let both = "// One clock (clk_i, rising edge); synchronous reset (rst_ni, active low).";
        for (name, said, clock, reset) in [
            ("find_first", "// Combinational: no clock, no reset.", None, None),
            ("oldest_first", "// One clock (clk_i, rising edge); no reset.", Some("clk_i"), None),
            ("round_robin", both, Some("clk_i"), Some("rst_ni")),
        ] {
            let spec = BlockSpec::new(name, Request { slots: 4, ..Request::default() });
            let design = emit::emit(&*spec.unwrap_or_else(|e| panic!("{e}")).hardware());
            let design = design.unwrap_or_else(|e| panic!("{e}"));
            let header = design.header(design.top());
            assert_eq!(header.lines().last(), Some(said), "{name}");
            let data = metadata_of(&design, &Beside::default());
            let said =
                reset.map(|name| serde_json::json!({"name": name, "active": "low", "kind": "synchronous"}));
            assert_eq!(
                (data["clock"].as_str(), data.get("reset")),
                (clock, said.as_ref().or(Some(&serde_json::Value::Null))),
                "{name}"
            );
        }
    }

    fn metadata_of(design: &Design, beside: &Beside) -> serde_json::Value {
        serde_json::from_str(&metadata(design, &[], beside)).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn the_metadata_says_all_parameters_and_what_is_beside() {
        let file = |name: &str| (name.to_string(), String::new());
        let beside = Beside {
            command: Some("windlass gen --block window_matrix".into()),
            constraints: vec![file("top.sdc"), file("top.xdc")],
            checker: vec![file("top_checker.sv")],
            formal: vec![file("top_formal.sv")],
            ..Beside::default()
        };
        let data = metadata_of(&design("window_matrix"), &beside);
        let parameters = serde_json::json!({"SLOTS": 4, "RETIRE_PORTS": 2, "PIPELINED": 0});
        assert_eq!(data["parameters"], parameters);
        assert_eq!(data["command"], "windlass gen --block window_matrix");
        assert_eq!(data["constraints"], serde_json::json!(["top.sdc", "top.xdc"]));
        assert_eq!(data["checker"], serde_json::json!(["top_checker.sv"]));
        assert_eq!(data["formal"], serde_json::json!(["top_formal.sv"]));
        let arbiter = metadata_of(&design("cta_arbiter_single"), &Beside::default());
        assert_eq!(arbiter["parameters"]["PLACES"], 1);
    }

    #[test]
    fn the_metadata_says_what_each_output_depends_on() {
        let data = metadata_of(&design("window_matrix"), &Beside::default());
        let on = |port: &str| data["combinational"][port].clone();
        assert_eq!(on("ins_slot_o"), serde_json::json!(["ins_valid_i"]));
        assert_eq!(on("ins_ready_o"), serde_json::json!([]));
        assert!(on("ret_err_o").as_array().is_some_and(|ports| ports.contains(&"ret_slot_1_i".into())));
        let outputs =
            data["ports"].as_array().map(|ports| ports.iter().filter(|p| p["direction"] == "output"));
        assert_eq!(data["combinational"].as_object().map(|of| of.len()), outputs.map(Iterator::count));
    }
}
