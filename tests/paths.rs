//! What the metadata of a design says of combinational paths, port by port, against cones that Yosys' netlist of gates has, in which nothing
//! of ours is but the Verilog.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::process::Command;
use windlass_catalog::{BlockSpec, Request};
use windlass_gen::emit::{self, Design};
use windlass_gen::output;
use windlass_rtl::params::{ArbiterKind, Encoding, SmLimits, WindowKind};

type Paths = BTreeMap<String, BTreeSet<String>>;

/// The bits of a port, or of a cell's pin. Constants, which are texts, are none.
fn bits(value: &Value) -> impl Iterator<Item = u64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_u64)
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Of each output port, the input ports from which gates lead to it.
fn cones(design: &Design) -> Paths {
    let directory = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let files = output::verilog_files(design);
    output::write_files(&files, directory.path()).unwrap_or_else(|e| panic!("{e}"));
    let (top, names) = (&design.top().name, files.into_iter().map(|(name, _)| name).collect::<Vec<_>>());
    let script = format!(
        "read_verilog {}; hierarchy -top {top}; proc; flatten; memory; techmap; opt_clean; write_json netlist.json",
        names.join(" ")
    );
    let output = Command::new("yosys").args(["-q", "-p", &script]).current_dir(directory.path()).output();
    let output = output.unwrap_or_else(|e| panic!("yosys: {e}; run scripts/setup.sh"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text =
        std::fs::read_to_string(directory.path().join("netlist.json")).unwrap_or_else(|e| panic!("{e}"));
    let netlist: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
    let module = &netlist["modules"][top];

    let mut drivers: HashMap<u64, Vec<u64>> = HashMap::new();
    for (_, cell) in entries(&module["cells"]) {
        let kind = cell["type"].as_str().unwrap_or_default();
        if kind.contains("DFF") || kind.contains("dff") {
            continue;
        }
        let pins = |direction: &'static str| {
            let is = move |pin: &str| cell["port_directions"][pin] == direction;
            entries(&cell["connections"]).filter(move |(pin, _)| is(pin)).flat_map(|(_, value)| bits(value))
        };
        for output in pins("output") {
            drivers.entry(output).or_default().extend(pins("input"));
        }
    }
    let ports = |direction: &'static str| {
        entries(&module["ports"]).filter(move |(_, port)| port["direction"] == direction)
    };
    let inputs: HashMap<u64, &String> =
        ports("input").flat_map(|(name, port)| bits(&port["bits"]).map(move |bit| (bit, name))).collect();
    let cone = |port: &Value| {
        let (mut open, mut seen) = (bits(&port["bits"]).collect::<Vec<_>>(), BTreeSet::new());
        while let Some(bit) = open.pop() {
            if seen.insert(bit) {
                open.extend(drivers.get(&bit).into_iter().flatten());
            }
        }
        seen.iter().filter_map(|bit| inputs.get(bit)).map(|name| name.to_string()).collect()
    };
    ports("output").map(|(name, port)| (name.clone(), cone(port))).collect()
}

/// What the metadata beside the design says.
fn said(design: &Design) -> Paths {
    let files = output::files(design);
    let (_, text) = files.iter().find(|(name, _)| name.ends_with(".json")).expect("there is one");
    let metadata: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}"));
    serde_json::from_value(metadata["combinational"].clone()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn outputs_of_blocks_depend_on_what_yosys_finds() {
    outputs_depend_on_what_yosys_finds(|name| name != "front_end" && !name.starts_with("kernel_scheduler"));
}

/// In a test of their own, which takes as long as that of all others.
#[test]
fn outputs_of_all_together_depend_on_what_yosys_finds() {
    outputs_depend_on_what_yosys_finds(|name| name == "front_end" || name.starts_with("kernel_scheduler"));
}

fn outputs_depend_on_what_yosys_finds(of: impl Fn(&str) -> bool) {
    let limits = SmLimits::new(2, 4, 4, 4).unwrap_or_else(|e| panic!("{e}"));
    // Five SMs: slices of different sizes, and a group that is not full.
    let small = Request { slots: 4, sms: 5, scheduled: 32, limits, ..Request::default() };
    let mask = Request { encoding: Encoding::Mask, ..small };
    let list = Request { window: WindowKind::List, ..small };
    let single = Request { arbiter: ArbiterKind::Single, ..small };
    let staged = Request { pipelined: true, ..small };
    let several = Request { places: 2, arbiter: ArbiterKind::Typed { active: 1 }, ..small };
    let holds = Request { hold_idle: true, ..single };
    let cases = [
        ("round_robin", small),
        ("oldest_first", small),
        ("upstream_load", small),
        ("upstream_load", mask),
        ("window_matrix", small),
        ("window_matrix", staged),
        ("window_list", list),
        ("kernel_scheduler", small),
        ("kernel_scheduler", list),
        ("kernel_scheduler", Request { encoding: Encoding::Mask, ..list }),
        ("kernel_table", small),
        ("kernel_table", single),
        ("sm_occupancy", small),
        ("sm_partitions", single),
        ("sm_occupancy", holds),
        ("sm_partitions", holds),
        ("cta_arbiter_single", single),
        ("cta_arbiter_typed", small),
        ("cta_arbiter_typed", several),
        ("front_end", Request { encoding: Encoding::Mask, ..list }),
        ("front_end", Request { pipelined: true, ..several }),
    ];
    let mut wrong = Vec::new();
    for (name, request) in cases.into_iter().filter(|(name, _)| of(name)) {
        let spec = BlockSpec::new(name, request).unwrap_or_else(|e| panic!("{e}"));
        let design = emit::emit(&*spec.hardware()).unwrap_or_else(|e| panic!("{e}"));
        let (said, found) = (said(&design), cones(&design));
        assert!(!found.is_empty(), "{name}");
        let outputs: BTreeSet<&String> = said.keys().chain(found.keys()).collect();
        for output in outputs.into_iter().filter(|output| said.get(*output) != found.get(*output)) {
            let top = &design.top().name;
            wrong.push(format!(
                "{top}: {output}: said {:?}, found {:?}",
                said.get(output),
                found.get(output)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
