//! Buffering and sizing: the netlist computes the same, is faster, and is the same on every run. Energy: what changes is paid for.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use windlass_netlist::{
    Gates, NetlistError, ResizeOptions, Resized, SHARED, Unplaced, WireHints, WireModel, Wires, resize,
};

/// Inverter, buffer, some gates and a flip-flop in two or three sizes; delay = intrinsic + slope x load, equal for all slews.
fn library() -> String {
    let table = |name: &str, base: f64, slope: f64| {
        format!(
            "{name} (t) {{ index_1 (\"0.0, 1.0\"); index_2 (\"0.0, 10.0\"); values (\"{base}, {b}\", \"{base}, {b}\"); }}",
            b = base + 10.0 * slope
        )
    };
    let timing = |pin: &str, kind: &str, slope: f64| {
        format!(
            "timing () {{ related_pin : \"{pin}\"; {kind} {} {} {} {} }}",
            table("cell_rise", 0.02, slope),
            table("cell_fall", 0.02, slope),
            table("rise_transition", 0.01, slope),
            table("fall_transition", 0.01, slope)
        )
    };
    let mut text = String::from(
        "library (mini) { time_unit : \"1ns\"; capacitive_load_unit (1,ff);\n\
         lu_table_template (t) { variable_1 : input_net_transition; variable_2 : total_output_net_capacitance; }\n",
    );
    for (size, strength) in [(1, 1.0), (2, 2.0), (4, 4.0)] {
        let negative = "timing_sense : negative_unate;";
        let slope = 0.01 / strength;
        for (name, inputs, function, sense) in [
            ("INV", vec!["A"], "!A", negative),
            ("ND2", vec!["A", "B"], "!(A B)", negative),
            ("BUF", vec!["A"], "A", "timing_sense : positive_unate;"),
            ("NR2", vec!["A", "B"], "!(A+B)", negative),
            ("AN2", vec!["A", "B"], "(A B)", "timing_sense : positive_unate;"),
            ("AOI", vec!["A", "B", "C"], "!((A B)+C)", negative),
            ("XR2", vec!["A", "B"], "(A^B)", ""),
        ] {
            text += &format!("cell ({name}X{size}) {{ area : {};\n", strength * inputs.len() as f64);
            for pin in &inputs {
                text += &format!("pin ({pin}) {{ direction : input; capacitance : {strength}; }}\n");
            }
            text += &format!("pin (Z) {{ direction : output; function : \"{function}\";");
            for pin in &inputs {
                text += &timing(pin, sense, slope);
            }
            text += "} }\n";
        }
    }
    for (size, slope) in [(1, 0.01), (2, 0.005)] {
        text += &format!(
            "cell (DFFX{size}) {{ area : {}; ff (IQ, IQN) {{ clocked_on : \"CK\"; next_state : \"D\"; }}\n\
             pin (CK) {{ direction : input; capacitance : 1; clock : true; }}\n\
             pin (D) {{ direction : input; capacitance : 1; timing () {{ related_pin : \"CK\"; timing_type : setup_rising; {} {} }} }}\n\
             pin (Q) {{ direction : output; function : \"IQ\"; {} }}\n\
             pin (QN) {{ direction : output; function : \"IQN\"; {} }} }}\n",
            4 + size,
            table("rise_constraint", 0.03, 0.0),
            table("fall_constraint", 0.03, 0.0),
            timing("CK", "timing_type : rising_edge;", slope),
            timing("CK", "timing_type : rising_edge;", slope)
        );
    }
    text + "}\n"
}

fn cell(kind: &str, pins: &[(&str, u64)]) -> Value {
    let connections: BTreeMap<&str, Value> = pins.iter().map(|(pin, bit)| (*pin, json!([bit]))).collect();
    json!({ "type": kind, "connections": connections })
}

/// A flip-flop that drives `sinks` gates, each before a flip-flop; the first through a chain of ten inverters.
fn fan_out(sinks: u64) -> String {
    let mut cells = BTreeMap::new();
    cells.insert("source".to_string(), cell("DFFX1", &[("CK", 2), ("D", 3), ("Q", 4)]));
    let mut next = 10;
    for s in 0..sinks {
        let mut from = 4;
        for i in 0..if s == 0 { 10 } else { 1 } {
            cells.insert(format!("inv_{s}_{i}"), cell("INVX1", &[("A", from), ("Z", next)]));
            from = next;
            next += 1;
        }
        cells.insert(format!("nand_{s}"), cell("ND2X1", &[("A", from), ("B", 5), ("Z", next)]));
        cells.insert(format!("end_{s}"), cell("DFFX1", &[("CK", 2), ("D", next), ("Q", next + 1)]));
        next += 2;
    }
    let port = |direction: &str, bit: u64| json!({ "direction": direction, "bits": [bit] });
    let ports = json!({ "clk": port("input", 2), "d": port("input", 3), "enable": port("input", 5), "q": port("output", 4) });
    json!({ "modules": { "top": { "ports": ports, "cells": cells, "netnames": {} } } }).to_string()
}

fn run(netlist: &str, period_ps: f64) -> Resized {
    let options = ResizeOptions { period_ps, ..ResizeOptions::default() };
    resize(netlist, "top", &library(), "mini.lib".as_ref(), &options).unwrap()
}

const WIRES: WireModel = WireModel { row_um: 2.0, ohm_per_um: 10.0, ff_per_um: 0.5 };

fn unplaced(netlist: &str) -> Unplaced {
    Unplaced::new(netlist, "top", &library(), "mini.lib".as_ref(), WIRES).unwrap()
}

/// The cells' names in the order of the placer's files.
fn instances(netlist: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(netlist).unwrap();
    document["modules"]["top"]["cells"].as_object().unwrap().keys().cloned().collect()
}

/// The wires where each cell's lower left corner is where `at` says, in hundredths of a micrometre.
fn wires(netlist: &str, mut at: impl FnMut(&str) -> (u64, u64)) -> Wires {
    let places = instances(netlist).into_iter().enumerate().map(|(cell, name)| {
        let (x, y) = at(&name);
        format!("c{cell} {x} {y} : N\n")
    });
    unplaced(netlist).wires(&format!("UCLA pl 1.0\n{}", places.collect::<String>())).unwrap()
}

fn run_with(netlist: &str, period_ps: f64, wires: WireHints) -> Resized {
    let options = ResizeOptions { period_ps, wires: Some(wires), ..ResizeOptions::default() };
    resize(netlist, "top", &library(), "mini.lib".as_ref(), &options).unwrap()
}

/// Numbers that look random, the same ones each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

/// Gates at random between flip-flops, and ports on both sides.
fn random(seed: u64, gates: usize) -> String {
    let mut numbers = Numbers(seed);
    let mut cells = BTreeMap::new();
    let (inputs, state) = (8, 12);
    // Net 2 is the clock; inputs, then what flip-flops hold.
    let mut nets: Vec<u64> = (10..10 + inputs + state).collect();
    let kinds =
        [("INVX1", 1), ("ND2X1", 2), ("ND2X1", 2), ("NR2X1", 2), ("AN2X1", 2), ("AOIX1", 3), ("XR2X1", 2)];
    for (gate, next) in (100..).enumerate().take(gates) {
        let (kind, pins) = kinds[numbers.below(kinds.len())];
        let mut connected: Vec<(&str, u64)> =
            ["A", "B", "C"][..pins].iter().map(|pin| (*pin, nets[numbers.below(nets.len())])).collect();
        connected.push(("Z", next));
        cells.insert(format!("gate_{gate}"), cell(kind, &connected));
        nets.push(next);
    }
    for bit in 0..state {
        let from = nets[nets.len() - 1 - numbers.below(gates / 2)];
        let pins = [("CK", 2), ("D", from), ("Q", 10 + inputs + bit)];
        cells.insert(format!("state_{bit}"), cell("DFFX1", &pins));
    }
    let outputs: Vec<u64> = (0..20).map(|_| nets[nets.len() - 1 - numbers.below(gates)]).collect();
    let ports = json!({
        "clk": { "direction": "input", "bits": [2] },
        "in": { "direction": "input", "bits": (10..10 + inputs).collect::<Vec<_>>() },
        "out": { "direction": "output", "bits": outputs },
    });
    json!({ "modules": { "top": { "ports": ports, "cells": cells, "netnames": {} } } }).to_string()
}

/// What leaves the design in many cycles of random inputs.
fn behaviour(netlist: &str, input: &str, width: usize, output: &str) -> Vec<Option<Vec<bool>>> {
    let mut gates = gates(netlist);
    let mut numbers = Numbers(7);
    let cycle = |_| {
        assert!(gates.set(input, (0..width).map(|_| numbers.below(2) == 1)));
        gates.settle();
        let out = gates.get(output);
        gates.clock();
        out
    };
    (0..400).map(cycle).collect()
}

#[test]
fn the_netlist_computes_what_it_did() {
    let mut remade = 0;
    for seed in 0..24 {
        let before = random(seed, 40 + 12 * seed as usize);
        for period_ps in [0.0, 5000.0] {
            let after = run(&before, period_ps);
            let [was, is] = [&before, &after.netlist].map(|netlist| behaviour(netlist, "in", 8, "out"));
            assert!(was == is, "seed {seed}, {period_ps} ps");
            assert_eq!(after.netlist, run(&before, period_ps).netlist, "the same input gives the same bytes");
            remade += after.netlist.matches("\"remade_").count();
        }
    }
    assert!(remade > 100, "{remade} gates in place of others");
    for sinks in [1, 7, 40, 300] {
        let before = fan_out(sinks);
        let after = run(&before, 0.0).netlist;
        assert_eq!(behaviour(&before, "d", 1, "q"), behaviour(&after, "d", 1, "q"), "{sinks} sinks");
    }
}

#[test]
fn sized_for_wires_it_computes_what_it_did_too() {
    for seed in 0..8 {
        let before = random(seed, 40 + 30 * seed as usize);
        let mut numbers = Numbers(seed);
        let hints = wires(&before, |_| (numbers.below(4000) as u64, numbers.below(4000) as u64)).hints;
        for period_ps in [0.0, 5000.0] {
            let ideal = run(&before, period_ps);
            let after = run_with(&before, period_ps, hints.clone());
            assert!(
                behaviour(&before, "in", 8, "out") == behaviour(&after.netlist, "in", 8, "out"),
                "seed {seed}"
            );
            // Every wire weighs as much as several pins.
            assert!(after.delay_ps > 1.2 * ideal.delay_ps || after.delay_ps <= period_ps, "seed {seed}");
        }
    }
}

#[test]
fn a_net_has_the_wires_of_its_tree() {
    // source drives the inverter, the port `q` and nothing else; the inverter drives the NAND, and that the end.
    let mut document: Value = serde_json::from_str(&fan_out(1).replace("\"inv_0_0\"", "\"first\"")).unwrap();
    // A second port on the net has a load as well.
    document["modules"]["top"]["ports"]["twin"] = json!({ "direction": "output", "bits": [4] });
    let netlist = document.to_string();
    let unplaced = unplaced(&netlist);
    let order = instances(&netlist);
    // Widths by area: a flip-flop of 5 in rows of 2 is 2.5 wide, an inverter of 1 is 0.5.
    let [width, height] = unplaced.core_um();
    let area: f64 = order
        .iter()
        .map(|name| {
            if name.starts_with("inv") || name == "first" {
                1.0
            } else if name.starts_with("nand") {
                2.0
            } else {
                5.0
            }
        })
        .sum();
    assert!((width * height * 0.7 - area).abs() < 0.2 * area, "{width} x {height} for {area}");
    let files: BTreeMap<String, String> = unplaced.bookshelf("b").into_iter().collect();
    let source = order.iter().position(|name| name == "source").unwrap();
    assert!(files["b.nodes"].contains(&format!("c{source} 250 200\n")), "{}", files["b.nodes"]);
    // 10 inverters, NAND and end each have a net that reaches them; the clock and ports alone have none.
    assert!(files["b.nets"].contains("NumNets : 12\nNumPins : 24\n"), "{}", files["b.nets"]);

    // 30 um to the right and 7 um up from corner to corner; from middle to middle 1 um less, for the inverter is 2 um narrower.
    let placed = wires(&netlist, |name| if name == "source" { (0, 0) } else { (3000, 700) });
    assert!(placed.spef.contains("*D_NET q 18.0000\n*CONN\n*P q O\n*P twin O\n"), "{}", placed.spef);
    for line in [
        "1 source:Q 9.0000",
        "2 first:A 9.0000",
        "1 source:Q first:A 360.0000",
        "2 q source:Q 0.0010",
        "3 twin source:Q 0.0010",
    ] {
        assert!(placed.spef.lines().any(|l| l == line), "`{line}` in {}", placed.spef);
    }
    assert!((placed.longest_um - 36.0).abs() < 1e-6 && placed.nets == 12);

    for (text, says) in [
        ("c0 0 0 : N\n", "cells have no place"),
        ("c0 0 : N\n", "`c0 0 : N`"),
        ("c99 0 0 : N\n", "`c99 0 0 : N`"),
    ] {
        let error = unplaced.wires(text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn neighbours_share_buffers() {
    // Sinks of one net lie in two corners, by turns.
    let netlist = fan_out(200);
    let corner = |name: &str| {
        let digits = |c: char| !c.is_ascii_digit();
        name.split(digits).find_map(|n| n.parse::<u64>().ok()).unwrap_or(0) % 2
    };
    let hints = wires(&netlist, |name| (corner(name) * 3000, corner(name) * 3000)).hints;
    let mixed = |after: &Resized| {
        let document: Value = serde_json::from_str(&after.netlist).unwrap();
        let cells = document["modules"]["top"]["cells"].as_object().unwrap();
        let buffers = cells.iter().filter(|(name, _)| name.starts_with("fanout"));
        let corners = buffers.map(|(_, buffer)| {
            let out = &buffer["connections"]["Z"][0];
            let reads = |cell: &Value| ["A", "B"].iter().any(|pin| cell["connections"][pin][0] == *out);
            let sinks = cells.iter().filter(|(name, cell)| !name.starts_with("fanout") && reads(cell));
            sinks.map(|(name, _)| corner(name)).collect::<std::collections::BTreeSet<u64>>()
        });
        corners.filter(|corners| corners.len() > 1).count()
    };
    let (with, without) = (run_with(&netlist, 0.0, hints), run(&netlist, 0.0));
    assert!(3 * mixed(&with) < mixed(&without), "{} and {}", mixed(&with), mixed(&without));
}

#[test]
fn a_complement_is_the_flip_flops_own() {
    let mut document: Value = serde_json::from_str(&fan_out(1)).unwrap();
    let cells = &mut document["modules"]["top"]["cells"];
    // Two more inverters of what the flip-flop holds; an output reads one of them.
    cells["extra_0"] = cell("INVX1", &[("A", 4), ("Z", 90)]);
    cells["extra_1"] = cell("INVX1", &[("A", 4), ("Z", 91)]);
    cells["end_1"] = cell("DFFX1", &[("CK", 2), ("D", 91), ("Q", 92)]);
    document["modules"]["top"]["ports"]["n"] = json!({ "direction": "output", "bits": [90, 92] });
    let before = document.to_string();
    let after = run(&before, 5000.0).netlist;
    assert_eq!(behaviour(&before, "d", 1, "n"), behaviour(&after, "d", 1, "n"));
    let document: Value = serde_json::from_str(&after).unwrap();
    let cells = document["modules"]["top"]["cells"].as_object().unwrap();
    assert!(cells["source"]["connections"]["QN"][0].is_u64(), "{}", cells["source"]);
    assert!(!cells.contains_key("extra_0") && !cells.contains_key("extra_1"));
}

#[test]
fn what_was_sized_can_be_sized_again() {
    let before = random(3, 200);
    let once = run(&before, 0.0).netlist;
    let twice = run(&once, 5000.0).netlist;
    assert!(behaviour(&before, "in", 8, "out") == behaviour(&twice, "in", 8, "out"));
}

#[test]
fn verilog_has_all_cells() {
    let after = run(&fan_out(40), 0.0);
    assert!(after.verilog.starts_with(
        "module top (clk, d, enable, q);\n  input clk;\n  input d;\n  input enable;\n  output q;\n"
    ));
    let instances = after.verilog.lines().filter(|line| line.contains(" (.")).count() as u64;
    assert_eq!(instances, after.cells.values().sum::<u64>());
    assert_eq!(after.verilog.matches("fanout_").count(), after.buffers);
    assert!(after.verilog.contains(" source (.CK(clk), .D(d), .Q(q), .QN(n"), "{}", after.verilog);
}

#[test]
fn a_high_fan_out_gets_a_tree() {
    let after = run(&fan_out(300), 0.0);
    // 300 loads on one flip-flop: 20 ps + 3000 ps. A tree of buffers needs a few stages of some 50 ps.
    assert!(after.buffers >= 10, "{} buffers", after.buffers);
    assert!(after.delay_ps < 1000.0, "{} ps", after.delay_ps);
}

#[test]
fn a_period_that_is_easily_met_costs_nothing_but_buffers() {
    let fast = run(&fan_out(40), 0.0);
    let small = run(&fan_out(40), 5000.0);
    assert!(small.area < fast.area, "{} and {}", small.area, fast.area);
    assert!(small.delay_ps <= 5000.0);
    assert!(fast.delay_ps < small.delay_ps);
}

#[test]
fn what_cannot_be_read_is_said() {
    let options = ResizeOptions::default();
    let go = |netlist: &str, top: &str| resize(netlist, top, &library(), "mini.lib".as_ref(), &options);
    assert!(matches!(go("{", "top"), Err(NetlistError::Format { .. })));
    assert!(matches!(go(&fan_out(1), "other"), Err(NetlistError::Format { .. })));
    let unknown = fan_out(1).replace("ND2X1", "XYZ");
    let error = go(&unknown, "top").unwrap_err();
    assert!(error.to_string().contains("XYZ"), "{error}");
    let mut cells: Value = serde_json::from_str(&fan_out(1)).unwrap();
    cells["modules"]["top"]["cells"]["loop_a"] = cell("INVX1", &[("A", 90), ("Z", 91)]);
    cells["modules"]["top"]["cells"]["loop_b"] = cell("INVX1", &[("A", 91), ("Z", 90)]);
    assert!(matches!(go(&cells.to_string(), "top"), Err(NetlistError::Loop { .. })));
}

fn gates(netlist: &str) -> Gates {
    Gates::new(netlist, "top", &library(), "mini.lib".as_ref()).unwrap()
}

#[test]
fn gates_compute_what_they_are() {
    for netlist in [fan_out(1), run(&fan_out(1), 0.0).netlist] {
        let mut gates = gates(&netlist);
        assert_eq!(gates.inputs(), [("clk", 1), ("d", 1), ("enable", 1)]);
        let mut stored = None;
        for bit in [true, false, false, true, true] {
            assert!(gates.set("d", [bit]));
            gates.settle();
            if let Some(stored) = stored {
                assert_eq!(gates.get("q"), Some(vec![stored]));
            }
            gates.clock();
            stored = Some(bit);
        }
        assert!(!gates.set("no such port", [true]));
        assert_eq!(gates.get("no such port"), None);
    }
}

#[test]
fn energy_is_that_of_the_pins_that_change() {
    let mut gates = gates(&fan_out(1));
    let energy_fj = |gates: &mut Gates| gates.energy_by_block().iter().sum::<f64>();
    // Two flip-flops, each with a clock pin of 1 fF, at 1 V, and no internal energy in this library.
    assert_eq!(gates.power().flip_flops, 2);
    assert!((gates.power().clock_fj - 2.0).abs() < 1e-6, "{}", gates.power().clock_fj);
    assert_eq!(energy_fj(&mut gates), 0.0);
    gates.set("d", [true]);
    gates.settle();
    // Half of 1 fF x 1 V x 1 V on the flip-flop's data pin.
    assert!((energy_fj(&mut gates) - 0.5).abs() < 1e-6);
    gates.clock();
    gates.settle();
    // Its output changes, and all ten inverters behind it; the NAND has `enable` low and does not.
    assert!((energy_fj(&mut gates) - 0.5 * 11.0).abs() < 1e-6);
    assert_eq!(energy_fj(&mut gates), 0.0);
}

#[test]
fn a_floor_plan_has_the_blocks_where_they_are() {
    let mut document: Value = serde_json::from_str(&fan_out(1)).unwrap();
    let name =
        |bit: u64| json!({ "hide_name": 0, "bits": [bit], "attributes": { "windlass_register": "1" } });
    document["modules"]["top"]["netnames"] = json!({ "u_a.q": name(4), "u_b.end_q": name(21) });
    let netlist = document.to_string();
    // The flip-flop of `a` in the corner above on the left, everything else in the one below on the right.
    let plan = wires(&netlist, |name| if name == "source" { (0, 200) } else { (400, 0) }).plan;
    assert_eq!((plan.rows.len(), plan.blocks.len()), (48, 2), "{plan:?}");
    let at = |block: &str| {
        let letter = ['A', 'B'][plan.blocks.iter().position(|b| b == block).unwrap()];
        let tiles =
            plan.rows.iter().enumerate().filter_map(move |(down, row)| Some((row.find(letter)?, down)));
        tiles.collect::<Vec<_>>()
    };
    let [above, below] = [at("a"), at("b")];
    assert!(above.len() == 1 && !below.is_empty(), "{plan:?}");
    assert!(below.iter().all(|(along, down)| *along > above[0].0 && *down > above[0].1), "{plan:?}");
}

#[test]
fn wires_that_change_are_paid_for() {
    let netlist = fan_out(1);
    // The flip-flop alone lies apart: its net is as long as from its middle to the inverter's, 36 um of 0.5 fF.
    let spef = wires(&netlist, |name| if name == "source" { (0, 0) } else { (3000, 700) }).spef;
    let load = |spef: &str| Gates::with_wires(&netlist, "top", &library(), "mini.lib".as_ref(), spef);
    let mut gates = load(&spef).unwrap();
    gates.set("d", [true]);
    gates.settle();
    gates.energy_by_block();
    gates.clock();
    gates.settle();
    // Besides the pins: the inverters all have their middles in one place, but the NAND is 0.5 um wider, which is 0.25 um to its middle.
    let fj: f64 = gates.energy_by_block().iter().sum();
    assert!((fj - 0.5 * (11.0 + 18.0 + 0.125)).abs() < 1e-6, "{fj} fJ");
    let error = load("*D_NET other 1.0\n").err().unwrap().to_string();
    assert!(error.contains("wires are of another netlist") && error.contains("`other`"), "{error}");
}

#[test]
fn energy_belongs_to_the_block_of_the_flip_flops() {
    let mut document: Value = serde_json::from_str(&fan_out(1)).unwrap();
    let name = |bit: u64, register: bool| {
        let attributes = if register { json!({ "windlass_register": "1" }) } else { json!({}) };
        json!({ "hide_name": 0, "bits": [bit], "attributes": attributes })
    };
    document["modules"]["top"]["netnames"] = json!({
        "u_a.u_x_3.u_deep.q": name(4, true), "q": name(4, false), "u_b.u_in.u_far.d_i": name(4, false), "u_b.end_q": name(21, true),
    });
    let mut gates = gates(&document.to_string());
    let of = |gates: &Gates, energy: &[f64], name: &str| {
        let at = gates.blocks().iter().position(|b| b.name == name);
        at.map_or(0.0, |at| energy[at])
    };
    let clocks: Vec<f64> = gates.blocks().iter().map(|b| b.clock_fj).collect();
    assert!((of(&gates, &clocks, "a.x") - 1.0).abs() < 1e-6 && (of(&gates, &clocks, "b") - 1.0).abs() < 1e-6);
    assert!((clocks.iter().sum::<f64>() - gates.power().clock_fj).abs() < 1e-6);
    gates.set("d", [true]);
    gates.settle();
    assert!((of(&gates, &gates.clone().energy_by_block(), "a.x") - 0.5).abs() < 1e-6);
    gates.energy_by_block();
    gates.clock();
    gates.settle();
    // The flip-flop's output is its block's; the inverters are the block's that they feed.
    let energy = gates.energy_by_block();
    assert!((of(&gates, &energy, "a.x") - 0.5).abs() < 1e-6, "{:?} {energy:?}", gates.blocks());
    assert!((of(&gates, &energy, "b") - 5.0).abs() < 1e-6, "{:?} {energy:?}", gates.blocks());
    // A second block behind the inverters: they are neither's.
    let gates = |bit: u64| {
        let cell = cell("DFFX1", &[("CK", 2), ("D", bit), ("Q", 50)]);
        let mut document = document.clone();
        document["modules"]["top"]["cells"]["other"] = cell;
        document["modules"]["top"]["netnames"]["u_c.q"] = name(50, true);
        Gates::new(&document.to_string(), "top", &library(), "mini.lib".as_ref()).unwrap()
    };
    let mut both = gates(19);
    both.set("d", [true]);
    both.settle();
    both.clock();
    both.settle();
    both.energy_by_block();
    both.set("d", [false]);
    both.settle();
    both.energy_by_block();
    both.clock();
    both.settle();
    let energy = both.energy_by_block();
    assert!((of(&both, &energy, SHARED) - 5.5).abs() < 1e-6, "{:?} {energy:?}", both.blocks());
    assert!(of(&both, &energy, "b").abs() < 1e-6, "{:?} {energy:?}", both.blocks());
}
