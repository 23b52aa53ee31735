//! Constraints of every block of the catalog; mistakes in the file; what the tools say to the files made from it.

use std::path::Path;
use std::process::Command;
use windlass_catalog::{BLOCKS, BlockSpec, Request};
use windlass_gen::constraints::{ConstraintErrors, Constraints, EMBEDDED, Problem};
use windlass_gen::tools::{self, Tool};
use windlass_gen::{emit, output};
use windlass_netlist::liberty;
use windlass_rtl::params::{ArbiterKind, Encoding, WindowKind};
use windlass_rtl::port::{CLOCK, Direction, Port};

fn spec(name: &str, request: Request) -> BlockSpec {
    BlockSpec::new(name, request).unwrap_or_else(|e| panic!("{e}"))
}

fn small() -> Request {
    Request { slots: 8, sms: 8, ..Request::default() }
}

/// The embedded file with a piece of text changed.
fn changed(from: &str, to: &str) -> Result<Constraints, ConstraintErrors> {
    assert!(EMBEDDED.contains(from), "the embedded file has no `{from}`");
    Constraints::parse(&EMBEDDED.replacen(from, to, 1), "mine.toml")
}

fn with(addition: &str) -> Result<Constraints, ConstraintErrors> {
    Constraints::parse(&format!("{EMBEDDED}\n{addition}\n"), "mine.toml")
}

fn sdc_of(constraints: &Constraints, spec: BlockSpec) -> Result<String, ConstraintErrors> {
    let ports = spec.ports();
    constraints.resolve(spec.name(), "top", &ports)?.sdc(None)
}

fn fails<T: std::fmt::Debug>(result: Result<T, ConstraintErrors>, words: &[&str]) -> ConstraintErrors {
    let errors = result.expect_err("there is a mistake");
    for word in words {
        assert!(errors.to_string().contains(word), "`{errors}` does not say `{word}`");
    }
    errors
}

/// Names in the `get_ports` of the lines that begin with `command`, `[*]` and repetitions dropped.
fn named(sdc: &str, command: &str) -> Vec<String> {
    let mut names: Vec<String> = sdc
        .lines()
        .filter(|line| line.starts_with(command))
        .filter_map(|line| line.split_once("get_ports {")?.1.split_once('}'))
        .flat_map(|(names, _)| names.split(' ').map(|n| n.replace("[*]", "")).collect::<Vec<_>>())
        .collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn every_port_of_every_block_has_a_clock_or_a_budget() {
    let constraints = Constraints::embedded();
    let mut blocks = std::collections::BTreeSet::new();
    // Every kind of ports: the sizes change only widths and indices.
    let mut requests = Vec::new();
    for arbiter in [ArbiterKind::Single, ArbiterKind::Typed { active: 2 }] {
        for window in [WindowKind::Matrix, WindowKind::List] {
            for encoding in [Encoding::Ids { lanes: 4 }, Encoding::Mask] {
                for slots in [8, 32] {
                    requests.push(Request { arbiter, window, encoding, slots, sms: 132, ..small() });
                }
            }
        }
    }
    for request in requests {
        for name in BLOCKS {
            let spec = spec(name, request);
            let ports = spec.ports();
            let resolved =
                constraints.resolve(spec.name(), "top", &ports).unwrap_or_else(|e| panic!("{name}: {e}"));
            for library in
                [None, Some("osu018"), Some("NangateOpenCellLibrary"), Some("sg13g2_stdcell_typ_1p20V_25C")]
            {
                let sdc = resolved.sdc(library).unwrap_or_else(|e| panic!("{name}: {e}"));
                let wanted = |direction| {
                    let of = |p: &&Port| p.direction == direction && p.name != CLOCK;
                    let mut names: Vec<String> = ports.iter().filter(of).map(|p| p.name.clone()).collect();
                    names.sort();
                    names
                };
                assert_eq!(named(&sdc, "set_input_delay -max"), wanted(Direction::Input), "{name}");
                assert_eq!(named(&sdc, "set_output_delay -max"), wanted(Direction::Output), "{name}");
                assert_eq!(sdc.matches("create_clock").count(), 1, "{name}");
                let cells = if library.is_some() { wanted(Direction::Input) } else { Vec::new() };
                assert_eq!(named(&sdc, "set_driving_cell"), cells, "{name}");
            }
            assert!(resolved.xdc().contains("create_clock -name clk_i -period 6.667"), "{name}");
            let clocked = ports.iter().any(|p| p.name == CLOCK);
            assert_eq!(resolved.pcf().contains("set_frequency clk_i 90.001"), clocked, "{name}");
            assert_eq!(resolved.lpf().contains("FREQUENCY PORT \"clk_i\" 100.000 MHZ;"), clocked, "{name}");
            blocks.insert(name);
        }
    }
    assert_eq!(blocks.len(), BLOCKS.len());
}

/// The four files of a small block with everything that the format has; kept beside this test.
#[test]
fn golden_of_a_round_robin() {
    let constraints = with(GOLDEN_ADDITION).unwrap_or_else(|e| panic!("{e}"));
    let design =
        emit::emit(&*spec("round_robin", Request { slots: 4, ..small() }).hardware()).expect("emitted");
    let top = design.top();
    let resolved =
        constraints.resolve("round_robin", &top.name, &top.ports).unwrap_or_else(|e| panic!("{e}"));
    let files = resolved.files(Some("nangate45")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(files.len(), 4);
    for (name, text) in files {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(&name);
        if std::env::var_os("WINDLASS_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(kept == text, "{} differs; WINDLASS_BLESS=1 writes the new text", path.display());
    }
}

const GOLDEN_ADDITION: &str = r#"
[[fpga.ice40.pin]]
port = "clk_i"
sites = ["J3"]
[[fpga.ecp5.pin]]
port = "gnt_o"
blocks = ["round_robin"]
sites = ["A1", "A2", "A3", "A4"]
[[fpga.xc7.pin]]
port = "gnt_o"
blocks = ["round_robin"]
sites = ["W5", "V5", "U5", "U4"]
[[false_path]]
from = ["rst_ni"]
reason = "held for many cycles"
[[multicycle_path]]
from = "ack_i"
to = "gnt_o"
setup = 2
reason = "two cycles are\n allowed"
[[multicycle_path]]
from = ["host_id_i"]
setup = 2
reason = "of another block"
"#;

#[test]
fn a_misspelt_port_fails_with_the_names_near_it() {
    let window = spec("window_matrix", small());
    let constraints =
        with("[[io]]\nports = [\"ins_vaild_i\"]\nclock = \"clk_i\"\ninput = 0.1").expect("no mistake yet");
    let errors = fails(
        sdc_of(&constraints, window),
        &["mine.toml:", "io[3].ports", "`ins_vaild_i` names no port of top", "did you mean `ins_valid_i`"],
    );
    let [error] = errors.0.as_slice() else { panic!("{errors}") };
    assert_eq!(error.line, EMBEDDED.lines().count() + 3);
    assert!(matches!(&error.problem, Problem::NoSuchPort { port, .. } if port == "ins_vaild_i"));

    // A misspelt name is one for a block that has nothing like it, too; a right one is not.
    fails(sdc_of(&constraints, spec("round_robin", small())), &["ins_vaild_i"]);
    let others =
        with("[[io]]\nports = [\"ins_valid_i\"]\nclock = \"clk_i\"\ninput = 0.1").expect("no mistake");
    assert!(sdc_of(&others, spec("round_robin", small())).is_ok());
    // Unless the entry says that it is for that block.
    let strict =
        with("[[io]]\nports = [\"ins_valid_i\"]\nblocks = [\"round_robin\"]\nclock = \"clk_i\"\ninput = 0.1")
            .expect("no mistake yet");
    fails(sdc_of(&strict, spec("round_robin", small())), &["ins_valid_i"]);
    assert!(sdc_of(&strict, window).is_ok());
    // An index that is too high is a mistake where there are others.
    let index =
        with("[[io]]\nports = [\"ret_slot_2_i\"]\nclock = \"clk_i\"\ninput = 0.1").expect("no mistake yet");
    fails(sdc_of(&index, window), &["ret_slot_2_i", "ret_slot_0_i"]);
    assert!(sdc_of(&index, spec("window_matrix", Request { retire_ports: 3, ..small() })).is_ok());
    // So are clocks, channels, pins and the ends of exceptions.
    for (text, word) in [
        ("[[clock]]\nport = \"clock_i\"\nperiod_ns = 1", "clock_i"),
        ("[[io]]\nchannels = [\"rett\"]\nclock = \"clk_i\"\ninput = 0.1", "rett"),
        ("[[fpga.ice40.pin]]\nport = \"clk_o\"\nsites = [\"J3\"]", "clk_o"),
        ("[[false_path]]\nfrom = [\"rst_in\"]\nreason = \"slow\"", "rst_in"),
    ] {
        let constraints = with(text).unwrap_or_else(|e| panic!("{e}"));
        fails(sdc_of(&constraints, window), &[word, "names no port"]);
    }
}

#[test]
fn a_channel_is_known_where_some_block_has_it() {
    let sdc = |constraints: &Constraints, name: &str| {
        let spec = spec(name, small());
        let ports = emit::ports(&*spec.hardware()).unwrap_or_else(|e| panic!("{e}"));
        constraints.resolve(spec.name(), "top", &ports)?.sdc(None)
    };
    let late = with("[[io]]\nchannels = [\"disp\", \"ret\", \"next\"]\nclock = \"clk_i\"\noutput = 0.6")
        .expect("no mistake");
    let delayed = |name: &str| {
        let sdc = sdc(&late, name).unwrap_or_else(|e| panic!("{name}: {e}"));
        let lines: Vec<&str> = sdc.lines().filter(|line| line.contains("0.600")).collect();
        named(&lines.join("\n"), "set_output_delay -max")
    };
    let disp = ["disp_id_o", "disp_slot_o", "disp_valid_o"].map(String::from);
    let ret = ["ret_slot_0_o", "ret_slot_1_o", "ret_valid_0_o", "ret_valid_1_o"].map(String::from);
    assert_eq!(delayed("front_end"), [&disp[..], &ret].concat(), "and no ret_err_o");
    assert_eq!(
        delayed("kernel_scheduler"),
        [&disp[..], &["ret_ready_0_o".into(), "ret_ready_1_o".into()]].concat()
    );
    assert!(delayed("round_robin").is_empty());
    // Not where the entry is for a block that lacks it, nor with a slip.
    let text =
        "[[io]]\nchannels = [\"CHANNEL\"]\nblocks = [\"round_robin\"]\nclock = \"clk_i\"\noutput = 0.6";
    let strict = with(&text.replace("CHANNEL", "disp")).expect("no mistake yet");
    fails(sdc(&strict, "round_robin"), &["`disp` names no port"]);
    let slip =
        with("[[io]]\nchannels = [\"dips\"]\nclock = \"clk_i\"\noutput = 0.6").expect("no mistake yet");
    fails(sdc(&slip, "round_robin"), &["`dips` names no port", "did you mean `disp`"]);
}

#[test]
fn a_port_that_nothing_covers_fails() {
    let window = spec("window_matrix", small());
    let narrow = changed("ports = [\"*_i\", \"*_ni\", \"*_o\"]", "ports = [\"ins_*_i\", \"*_ni\", \"*_o\"]")
        .expect("no mistake yet");
    let errors = fails(sdc_of(&narrow, window), &["no `input` budget", "ret_valid_0_i", "disp_ready_i"]);
    assert_eq!(errors.0.len(), 1);
    let inputs = changed("output = 0.25\n", "").expect("no mistake yet");
    fails(sdc_of(&inputs, window), &["no `output` budget", "ins_ready_o"]);
    // Without its clock the clock's port must not pass for an input.
    let text = "format_version = 1\n[[clock]]\nport = \"rst_ni\"\nperiod_ns = 1\n[[io]]\nports = \"*\"\nclock = \"rst_ni\"\ninput = 0.1\noutput = 0.1";
    let no_clock = Constraints::parse(text, "mine.toml").expect("no mistake yet");
    fails(sdc_of(&no_clock, window), &["[[clock]]", "clk_i"]);
}

#[test]
fn all_mistakes_of_a_file_are_named_with_their_lines() {
    let text = r#"format_version = 2
[[clock]]
port = "clk_i"
period = 1.0
[[io]]
ports = ["*"]
clock = "clk"
input = 1.5
blocks = ["window_matrx"]
[[false_path]]
from = ["rst_ni"]
[[multicycle_path]]
from = ["rst_ni"]
setup = 1
reason = " "
[library.mine]
match = "mine"
driving_cell = "BUF; exit"
driving_pin = "Y"
load = "much"
period_ns = { clk = 2 }
[fpga.max10]
"#;
    let errors = fails(Constraints::parse(text, "mine.toml"), &[]);
    let expected = [
        "mine.toml:1: format_version: is 2, but must be 1",
        "mine.toml:2: clock[0].period_ns: is missing; add a number from 0.001 to less than 1000000",
        "mine.toml:4: clock[0].period: is not a field here; possible: port, period_ns",
        "mine.toml:7: io[0].clock: there is no [[clock]] `clk`",
        "mine.toml:8: io[0].input: is 1.5, but must be a number from 0 to less than 1",
        "mine.toml:9: io[0].blocks: there is no block `window_matrx`; did you mean `window_matrix`?",
        "mine.toml:10: false_path[0].reason: is missing; add a sentence that says why",
        "mine.toml:14: multicycle_path[0].setup: is 1, but must be a number from 2",
        "mine.toml:15: multicycle_path[0].reason: is ` `, but must be a sentence that says why",
        "mine.toml:18: library.mine.driving_cell: is `BUF; exit`, but must be a name",
        "mine.toml:20: library.mine.load: is `much`, but must be a number",
        "mine.toml:22: fpga.max10: is not a field here; possible: ice40, ecp5, xc7",
    ];
    let lines: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
    for expected in expected {
        assert!(lines.iter().any(|line| line.starts_with(expected)), "no `{expected}` in\n{errors}");
    }
    assert!(errors.0.is_sorted_by_key(|e| e.line), "{errors}");
    fails(Constraints::parse("a = [\nb = 1", "mine.toml"), &["mine.toml:"]);
    fails(Constraints::load(Path::new("no/such.toml")), &["no/such.toml", "cannot be read"]);
}

#[test]
fn sta_reads_the_sdc_and_the_xdc_without_a_word() {
    let sta = tools::find(Tool::OpenSta).expect("scripts/setup.sh installs OpenSTA");
    let yosys = tools::find(Tool::Yosys).expect("scripts/setup.sh installs Yosys");
    let library = liberty::default_path().expect("scripts/setup.sh installs the library");
    let library = library.display();
    let constraints = with(
        "[[false_path]]\nfrom = [\"rst_ni\"]\nreason = \"held for many cycles\"\n[[multicycle_path]]\nto = [\"gnt_o\"]\nsetup = 2\nreason = \"so\"\n[[fpga.xc7.pin]]\nport = \"rst_ni\"\nsites = [\"A1\"]",
    )
    .expect("no mistake");
    for name in ["find_first", "round_robin", "window_matrix", "sm_partitions"] {
        let spec = spec(name, Request { slots: 4, sms: 24, ..small() });
        let design = emit::emit(&*spec.hardware()).unwrap_or_else(|e| panic!("{e}"));
        let top = design.top();
        let directory = tempfile::tempdir().expect("a folder");
        let write =
            |name: &str, text: &str| std::fs::write(directory.path().join(name), text).expect("written");
        let resolved = constraints.resolve(name, &top.name, &top.ports).unwrap_or_else(|e| panic!("{e}"));
        write("top.sdc", &resolved.sdc(Some("osu018_stdcells")).unwrap_or_else(|e| panic!("{e}")));
        write("top.xdc", &resolved.xdc());
        for (file, text) in output::verilog_files(&design) {
            write(&file, &text);
        }
        let mut script: String =
            output::verilog_files(&design).iter().map(|(file, _)| format!("read_verilog {file}\n")).collect();
        script += &format!(
            "synth -flatten -top {}\ndfflibmap -liberty {library}\nabc -liberty {library}\n",
            top.name
        );
        script += "opt_clean -purge\nsetundef -zero\nwrite_verilog -noattr bus.v\nsplitnets -ports\nopt_clean -purge\nwrite_verilog -noattr split.v\n";
        write("synth.ys", &script);
        let run = |program: &Path, args: &[&str]| {
            let output =
                Command::new(program).args(args).current_dir(directory.path()).output().expect("it runs");
            let text = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(output.status.success(), "{name}: {text}");
            text
        };
        run(&yosys.path, &["-q", "-s", "synth.ys"]);
        // The netlist as Yosys writes it, and with ports split, as some versions of OpenSTA need it.
        // Debian's OpenSTA reads no assignment of a concatenation, which the first may have.
        let bus = std::fs::read_to_string(directory.path().join("bus.v")).expect("Yosys wrote it");
        let concatenates =
            bus.lines().any(|line| line.trim_start().starts_with("assign") && line.contains('{'));
        let netlists = ["bus.v", "split.v"].into_iter().skip(concatenates.into());
        for (netlist, file) in netlists.flat_map(|n| [(n, "top.sdc"), (n, "top.xdc")]) {
            // What XDC adds to SDC is `set_property`: OpenSTA looks for the ports, and there must be some.
            let property =
                "proc set_property {name value ports} { puts \"property $name of [llength $ports]\" }";
            let commands = format!(
                "{property}\nread_liberty {library}\nread_verilog {netlist}\nlink_design {}\nputs BEGIN\nread_sdc {file}\ncheck_setup -verbose\nputs END\nreport_checks -path_delay max\nreport_checks -path_delay min\n",
                top.name
            );
            write("sta.tcl", &commands);
            let said = run(&sta.path, &["-exit", "sta.tcl"]);
            let (_, after) = said.split_once("BEGIN").unwrap_or_else(|| panic!("{name}: {said}"));
            let (between, after) = after.split_once("END").unwrap_or_else(|| panic!("{name}: {said}"));
            // Outputs that are constant have no path; all else must be constrained, and nothing else may be said. Four places are
            // counted in three bits.
            let mut constant: Vec<String> =
                ["busy_o", "ret_ready_0_o", "ret_ready_1_o"].map(String::from).into();
            constant.extend((3..8).map(|bit| format!("occupancy_o[{bit}]")));
            let (properties, said): (Vec<&str>, Vec<&str>) = between
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .partition(|line| line.starts_with("property"));
            let expected: &[&str] = if file == "top.xdc" && name != "find_first" {
                &["property PACKAGE_PIN of 1", "property IOSTANDARD of 1"]
            } else {
                &[]
            };
            assert_eq!(properties, expected, "{name}, {netlist}: {between}");
            let odd =
                |line: &&str| !constant.iter().any(|c| c == line) && !line.contains("unconstrained endpoint");
            assert_eq!(said.into_iter().find(odd), None, "{name}, {netlist}, {file}: {between}");
            assert!(after.contains("slack"), "{name}, {netlist}, {file}: {after}");
        }
    }
}
