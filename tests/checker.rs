//! The checker that `windlass gen --checker` writes, under Icarus Verilog: it finds nothing wrong with what the benches drive, of front ends
//! of all kinds, and names each of its rules where it is broken. The properties of `--formal` beside it agree; formal jobs use them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;
use windlass_catalog::{BlockSpec, Request};
use windlass_cosim::block_stimulus::lawful_stimulus;
use windlass_gen::checker::{self, NoChecker};
use windlass_gen::emit::{self, Design};
use windlass_gen::output;
use windlass_rtl::params::{ArbiterKind, Encoding, SmLimits, WindowKind};
use windlass_rtl::port::{Direction, Layout};

/// What the block's bench drives: a line of hexadecimal digits per cycle, the last input first.
fn recorded(spec: BlockSpec, seed: u64, cycles: u64) -> String {
    let mut model = spec.model();
    let ports = model.ports();
    let inputs = Layout::new(&ports, Direction::Input);
    let outputs = Layout::new(&ports, Direction::Output);
    let (mut from, mut to) = (vec![0; inputs.words()], vec![0; outputs.words()]);
    let mut bench = lawful_stimulus(spec, seed);
    let mut text = String::new();
    for cycle in 0..cycles {
        bench.next(cycle, &to, &mut from);
        for word in from.iter().rev() {
            write!(text, "{word:08x}").expect("a string");
        }
        text.push('\n');
        model.cycle(&from, &mut to).unwrap_or_else(|e| panic!("{e}"));
    }
    text
}

/// What the checker sees in place of a port.
type Fault = (&'static str, &'static str);

/// A testbench that drives what was recorded, or its first `+cycles=N`. Run with `+fault=I`, the checker sees the I-th of these lists of
/// faults. `late` is high from cycle 300 on.
fn testbench(design: &Design, cycles: u64, faults: &[&[Fault]], properties: bool) -> String {
    let top = design.top();
    let inputs = Layout::new(&top.ports, Direction::Input);
    let width = 32 * inputs.words();
    let mut text = format!(
        "module tb;
  reg clk_i = 0;
  always #5 clk_i = ~clk_i;
  reg [{width}-1:0] all [0:{cycles}-1];
  reg [{width}-1:0] now;
  integer t = 0, fault = -1, cycles = {cycles};
  wire late = t >= 300;
"
    );
    let mut dut = vec![".clk_i(clk_i)".to_string()];
    for port in top.ports.iter().filter(|port| port.name != "clk_i") {
        let value = inputs
            .slot(&port.name)
            .map(|slot| format!(" = now[{} +: {}]", 32 * slot.word, slot.width))
            .unwrap_or_default();
        let _ = writeln!(text, "  wire [{}:0] {}{value};", port.width - 1, port.name);
        dut.push(format!(".{0}({0})", port.name));
    }
    let _ = writeln!(text, "  {} dut ({});", top.name, dut.join(", "));
    let mut seen = Vec::new();
    for port in checker::ports(design) {
        let mut value = String::new();
        for (i, faults) in faults.iter().enumerate() {
            if let Some((_, wrong)) = faults.iter().find(|(name, _)| *name == port.name) {
                let _ = write!(value, "fault == {i} ? {wrong} : ");
            }
        }
        let _ = writeln!(text, "  wire [{}:0] seen_{1} = {value}{1};", port.width - 1, port.name);
        seen.push(format!(".{0}(seen_{0})", port.name));
    }
    let _ = writeln!(text, "  {}_checker watch ({});", top.name, seen.join(", "));
    if properties {
        let _ = writeln!(text, "  {}_formal formal ({});", top.name, seen.join(", "));
        text.push_str("  defparam formal.u_rules.QUIET = 50;\n");
    }
    text + &format!(
        "  defparam watch.u_rules.REPORTS = 100000;
  defparam watch.u_rules.QUIET = 50;
  initial begin
    if (!$value$plusargs(\"fault=%d\", fault)) fault = -1;
    if (!$value$plusargs(\"cycles=%d\", cycles)) cycles = {cycles};
    $readmemh(\"vectors.hex\", all);
    now = all[0];
  end
  always @(posedge clk_i) begin
    t <= t + 1;
    now <= all[t + 1];
    if (t == cycles - 1) begin
      $display(\"broken %0d, sent %0d, retired %0d, placed %0d, ended %0d\", watch.u_rules.broken, watch.u_rules.sent,
        watch.u_rules.retired, watch.u_rules.placed_ctas, watch.u_rules.ended_ctas);
      $finish;
    end
  end
endmodule
"
    )
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// A design, its checker and what its bench drives, built for Icarus Verilog.
struct Replay {
    folder: tempfile::TempDir,
    top: String,
}

impl Replay {
    fn new(request: Request, seed: u64, cycles: u64, faults: &[&[Fault]], properties: bool) -> Self {
        let spec = BlockSpec::new("front_end", request).unwrap_or_else(|e| panic!("{e}"));
        let design = emit::emit(&*spec.hardware()).unwrap_or_else(|e| panic!("{e}"));
        let mut files = output::verilog_files(&design);
        files.extend(checker::files(spec, &design).unwrap_or_else(|e| panic!("{e}")));
        files.extend(checker::formal_files(spec, &design).unwrap_or_else(|e| panic!("{e}")));
        files.push(("tb.v".into(), testbench(&design, cycles, faults, properties)));
        let folder = tempfile::tempdir().expect("a folder");
        output::write_files(&files, folder.path()).unwrap_or_else(|e| panic!("{e}"));
        std::fs::write(folder.path().join("vectors.hex"), recorded(spec, seed, cycles)).expect("written");
        let iverilog = std::env::var("IVERILOG").unwrap_or_else(|_| "iverilog".into());
        let names = files.iter().map(|(name, _)| name);
        said(Command::new(iverilog).current_dir(folder.path()).args(["-g2012", "-o", "tb"]).args(names));
        Self { folder, top: design.top().name.clone() }
    }

    /// What the checker says.
    fn run(&self) -> String {
        self.run_with(&[])
    }

    fn run_with(&self, plus: &[String]) -> String {
        said(Command::new("vvp").current_dir(self.folder.path()).args(["-n", "tb"]).args(plus))
    }
}

/// When Icarus Verilog first reported a line in which `what` stands.
fn first(said: &str, what: &str) -> Option<u64> {
    let (line, next) = said.lines().zip(said.lines().skip(1)).find(|(line, _)| line.contains(what))?;
    let time = next.trim().strip_prefix("Time: ").and_then(|rest| rest.split(' ').next()?.parse().ok());
    Some(time.unwrap_or_else(|| panic!("no time after {line}: {next}")))
}

/// The properties among what is said.
const FORMAL: &str = "tb.formal.u_rules.";

fn small() -> Request {
    Request {
        slots: 4,
        sms: 4,
        limits: SmLimits::new(2, 4, 4, 4).expect("an SM"),
        encoding: Encoding::Ids { lanes: 2 },
        ..Request::default()
    }
}

#[test]
fn benches_break_no_rule() {
    let seed = std::env::var("WINDLASS_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20_261_125);
    let requests = [
        small(),
        Request { pipelined: true, arbiter: ArbiterKind::Typed { active: 1 }, sms: 33, slots: 8, ..small() },
        Request { window: WindowKind::List, encoding: Encoding::Mask, scheduled: 32, ..small() },
        Request { arbiter: ArbiterKind::Single, scheduled: 255, retire_ports: 1, ..small() },
        Request { arbiter: ArbiterKind::Single, places: 4, sms: 16, ..small() },
        Request { places: 2, sms: 9, ..small() },
    ];
    for request in requests {
        let replay = Replay::new(request, seed, 2000, &[], false);
        let said = replay.run();
        let last = said.lines().last().unwrap_or_default();
        eprintln!("{}, seed {seed}: {last}", replay.top);
        assert!(last.starts_with("broken 0, sent "), "{said}");
        // Icarus Verilog is slow with properties: so they see fewer cycles.
        let said = Replay::new(request, seed, 400, &[], true).run();
        assert!(said.starts_with("broken 0, sent "), "{}: {said}", replay.top);
        let counts: Vec<u64> = last.split([' ', ',']).filter_map(|number| number.parse().ok()).collect();
        assert!(counts.len() == 5 && counts[1..].iter().all(|n| *n >= 20), "{last}");
    }
}

#[test]
fn each_rule_is_named_where_it_is_broken() {
    let stop: Fault = ("host_valid_i", "host_valid_i & (t < 200)");
    let cases: &[(&str, &[Fault])] = &[
        ("inputs_are_known", &[("part_valid_i", "late ? 1'bx : part_valid_i")]),
        ("inputs_are_known", &[("host_id_i", "late ? 8'bx : host_id_i")]),
        ("inputs_are_known", &[("host_last_i", "late ? 1'bz : host_last_i")]),
        ("inputs_are_known", &[("host_up_valid_1_i", "late ? 1'bx : host_up_valid_1_i")]),
        ("inputs_are_known", &[("host_up_id_1_i", "late ? 8'bx : host_up_id_1_i")]),
        ("inputs_are_known", &[("host_grid_i", "late ? 32'bx : host_grid_i")]),
        ("inputs_are_known", &[("host_smem_i", "host_smem_i | {10'd0, late ? 1'bx : 1'b0}")]),
        ("inputs_are_known", &[("done_sm_2_i", "late ? 8'bx : done_sm_2_i")]),
        ("inputs_are_known", &[("done_slot_3_i", "late ? 2'bx : done_slot_3_i")]),
        ("inputs_are_known", &[("part_mask_i", "late ? 32'bx : part_mask_i")]),
        ("outputs_are_known", &[("host_ready_o", "late ? 1'bx : host_ready_o")]),
        ("outputs_are_known", &[("done_err_o", "late ? 1'bz : done_err_o")]),
        ("outputs_are_known", &[("cta_index_1_o", "cta_index_1_o + {31'd0, late ? 1'bx : 1'b0}")]),
        ("outputs_are_known", &[("disp_slot_o", "late ? 2'bx : disp_slot_o")]),
        ("outputs_are_known", &[("ret_slot_1_o", "late ? 2'bx : ret_slot_1_o")]),
        ("host_holds_a_beat", &[("host_valid_i", "host_valid_i & ~(late & t[0])")]),
        ("host_ids_count_up", &[("host_id_i", "host_id_i + late")]),
        ("host_names_the_last", &[("host_up_id_0_i", "late ? host_id_i : host_up_id_0_i")]),
        ("host_kernel_fits", &[("host_warps_i", "late ? 7'd5 : host_warps_i")]),
        ("host_kernel_fits", &[("host_regs_i", "late ? 9'd0 : host_regs_i")]),
        ("sms_hold_a_completion", &[("done_slot_0_i", "done_slot_0_i ^ {2{late & t[0]}}")]),
        ("sms_use_their_port", &[("done_sm_1_i", "late ? 8'd2 : done_sm_1_i")]),
        ("sms_name_a_cta_that_runs", &[("done_valid_0_i", "done_valid_0_i | late")]),
        ("sms_name_a_cta_that_runs", &[("rst_ni", "t != 300")]),
        ("partitions_hold_a_write", &[("part_valid_i", "part_valid_i & ~(late & t[0])")]),
        ("no_false_alarm", &[("done_err_o", "late")]),
        ("no_false_alarm", &[("host_err_o", "late")]),
        ("no_false_alarm", &[("ret_err_o", "late")]),
        ("alarm_is_raised", &[("host_warps_i", "late ? 7'd5 : host_warps_i")]),
        ("alarm_is_raised", &[("done_sm_1_i", "late ? 8'd2 : done_sm_1_i")]),
        (
            "alarm_is_raised",
            &[("done_slot_0_i", "late ? 2'd3 : done_slot_0_i"), ("disp_valid_o", "disp_valid_o & ~late")],
        ),
        (
            "cta_stays",
            &[
                ("cta_index_0_o", "cta_index_0_o ^ (late & t[0])"),
                ("cta_index_1_o", "cta_index_1_o ^ (late & t[0])"),
            ],
        ),
        ("cta_goes_to_an_sm", &[("cta_sm_0_o", "late ? 8'd4 : cta_sm_0_o")]),
        ("cta_is_of_its_kernel", &[("cta_id_0_o", "cta_id_0_o ^ late")]),
        ("cta_is_of_its_kernel", &[("cta_type_1_o", "cta_type_1_o ^ late")]),
        (
            "cta_comes_on_its_channel",
            &[
                ("cta_valid_0_o", "late ? cta_valid_1_o : cta_valid_0_o"),
                ("cta_ready_0_i", "late ? cta_ready_1_i : cta_ready_0_i"),
                ("cta_sm_0_o", "late ? cta_sm_1_o : cta_sm_0_o"),
                ("cta_slot_0_o", "late ? cta_slot_1_o : cta_slot_0_o"),
                ("cta_id_0_o", "late ? cta_id_1_o : cta_id_0_o"),
                ("cta_index_0_o", "late ? cta_index_1_o : cta_index_0_o"),
                ("cta_type_0_o", "late ? cta_type_1_o : cta_type_0_o"),
                ("cta_valid_1_o", "cta_valid_1_o & ~late"),
            ],
        ),
        (
            "completion_is_taken",
            &[("done_ready_3_o", "done_ready_3_o & ~late"), ("done_valid_3_i", "done_valid_3_i | late")],
        ),
        (
            "write_is_taken",
            &[("part_ready_o", "part_ready_o & ~late"), ("part_valid_i", "part_valid_i | late")],
        ),
        ("ctas_in_order", &[("cta_index_1_o", "cta_index_1_o + late")]),
        ("cta_stays_in_its_partition", &[("part_mask_i", "late ? 32'd0 : part_mask_i")]),
        ("cta_fits", &[("cta_sm_0_o", "late ? 8'd0 : cta_sm_0_o")]),
        ("slot_is_free", &[("disp_slot_o", "late ? 2'd0 : disp_slot_o")]),
        ("kernel_was_sent", &[("disp_id_o", "disp_id_o + (late ? 8'd100 : 8'd0)")]),
        ("dispatched_once", &[("disp_id_o", "late ? disp_id_o & 8'hfc : disp_id_o")]),
        (
            "waits_for_upstream",
            &[
                ("host_up_valid_1_i", "host_up_valid_1_i | late"),
                ("host_up_id_1_i", "late ? host_id_i - 8'd1 : host_up_id_1_i"),
            ],
        ),
        ("id_is_free", &[("host_id_i", "late ? 8'd5 : host_id_i")]),
        ("retires_once", &[("ret_valid_1_o", "ret_valid_1_o | late")]),
        ("retires_when_all_have_ended", &[("done_valid_3_i", "done_valid_3_i & ~late")]),
        (
            "goes_on",
            &[
                stop,
                ("disp_valid_o", "0"),
                ("cta_valid_0_o", "0"),
                ("cta_valid_1_o", "0"),
                ("done_valid_0_i", "0"),
                ("done_valid_1_i", "0"),
                ("done_valid_2_i", "0"),
                ("done_valid_3_i", "0"),
                ("ret_valid_0_o", "0"),
                ("ret_valid_1_o", "0"),
                ("part_valid_i", "0"),
            ],
        ),
    ];
    // The same after a reset that comes while CTAs are out.
    let after_a_reset: &[Fault] = &[
        ("rst_ni", "t != 300"),
        ("host_valid_i", "host_valid_i & (t < 800)"),
        ("disp_valid_o", "disp_valid_o & (t < 300)"),
        ("cta_valid_0_o", "cta_valid_0_o & (t < 300)"),
        ("cta_valid_1_o", "cta_valid_1_o & (t < 300)"),
        ("done_valid_0_i", "done_valid_0_i & (t < 300)"),
        ("done_valid_1_i", "done_valid_1_i & (t < 300)"),
        ("done_valid_2_i", "done_valid_2_i & (t < 300)"),
        ("done_valid_3_i", "done_valid_3_i & (t < 300)"),
        ("ret_valid_0_o", "ret_valid_0_o & (t < 300)"),
        ("ret_valid_1_o", "ret_valid_1_o & (t < 300)"),
        ("part_valid_i", "part_valid_i & (t < 300)"),
    ];
    let cases = &[cases, &[("goes_on", after_a_reset)]].concat();
    let faults: Vec<&[Fault]> = cases.iter().map(|(_, faults)| *faults).collect();
    let cycles = 2500;
    let replay = Replay::new(small(), 20_261_125, cycles, &faults, true);
    let missed = |i: usize| {
        let (rule, faults) = cases[i];
        let run = |cycles: u64| replay.run_with(&[format!("+fault={i}"), format!("+cycles={cycles}")]);
        let rule_named = format!("{rule} in cycle ");
        // Most show soon.
        let said = run(450);
        let said = if first(&said, &rule_named).is_some() { said } else { run(cycles) };
        let reports: Vec<&str> = said.lines().filter(|line| line.contains(" in cycle ")).take(3).collect();
        let noticed = first(&said, &rule_named);
        if noticed.is_none() {
            return Some(format!("{rule}: {faults:?}: {reports:#?}"));
        }
        // A property fails in the same cycle, and none before the first rule is broken. Of unknowns there are none.
        let same = first(&said, &format!("{FORMAL}{rule}.")) == noticed
            && first(&said, FORMAL) == first(&said, " in cycle ");
        (!same && !rule.ends_with("_are_known")).then(|| format!("property {rule}: {faults:?}: {said}"))
    };
    // Two at a time: each is a process of its own.
    let missed: Vec<String> = std::thread::scope(|scope| {
        let half = |first: usize| (first..cases.len()).step_by(2).filter_map(missed).collect::<Vec<_>>();
        let other = scope.spawn(move || half(1));
        let mut all = half(0);
        all.extend(other.join().expect("no panic"));
        all
    });
    assert!(missed.is_empty(), "{missed:#?}");
    // Every rule that there is.
    let text = include_str!("../gen/src/checker/front_end.sv");
    let rules = text.split("broke(\"").skip(1).filter_map(|rest| rest.split('"').next());
    for rule in rules.clone() {
        assert!(cases.iter().any(|(name, _)| *name == rule), "{rule} has no case");
    }
    // The properties have the same names. With books by entry, a kernel too many is a rule of its own.
    let formal = include_str!("../gen/src/checker/front_end_formal.sv");
    let names: BTreeSet<&str> = formal
        .split("front_end_formal_rule #(ASSUME_")
        .skip(1)
        .filter_map(|rest| rest.split_once(") ")?.1.split(' ').next())
        .collect();
    let known = |name: &str| !name.ends_with("_are_known");
    let mut expected: BTreeSet<&str> = rules.filter(|name| known(name)).collect();
    expected.insert("kernel_has_a_slot");
    assert_eq!(names, expected);
}

#[test]
fn other_blocks_have_none() {
    let spec = BlockSpec::new("window_matrix", Request { slots: 4, ..Request::default() }).expect("a size");
    let design = emit::emit(&*spec.hardware()).expect("Verilog");
    assert_eq!(checker::files(spec, &design), Err(NoChecker { block: "window_matrix" }));
    assert_eq!(checker::formal_files(spec, &design), Err(NoChecker { block: "window_matrix" }));
    assert_eq!(checker::testbench(spec, &design), Err(NoChecker { block: "window_matrix" }));
}
