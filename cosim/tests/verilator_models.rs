//! Verilated models: what goes in comes out, and what stops says so.

mod verilator_common;

use std::fs;
use verilator_common::{build, counter, instance, ports, spec};
use windlass_catalog::{BlockSpec, Request};
use windlass_cosim::stimulus::Rng;
use windlass_cosim::verilator::{BuildError, BuildSpec, InstanceError, InstanceOptions, Verilated};
use windlass_cosim::wave::{Unwritten, Wave, WaveFormat};
use windlass_gen::emit::{self, ResetKind};
use windlass_gen::output;
use windlass_rtl::model::CycleModel;
use windlass_rtl::port::{Direction, Layout};

const WIDTHS: [u32; 13] = [1, 2, 8, 9, 16, 17, 31, 32, 33, 64, 65, 128, 255];

/// All widths in one module: each input goes to its output, directly and through a register.
#[test]
fn every_width_passes_unchanged() {
    let (mut verilog, mut list, mut body) =
        (String::from("module widths (input clk_i"), "clk_i".to_string(), String::new());
    for w in WIDTHS {
        let m = w - 1;
        verilog += &format!(", input [{m}:0] a{w}_i, output [{m}:0] a{w}_o, output reg [{m}:0] r{w}_o");
        list += &format!(" a{w}_i:{w} a{w}_o:{w} r{w}_o:{w}");
        body += &format!("  assign a{w}_o = a{w}_i;\n  always @(posedge clk_i) r{w}_o <= a{w}_i;\n");
    }
    verilog += &format!(");\n{body}endmodule\n");
    let library = build(&spec("widths", &verilog, &list));
    let mut model = instance(&library, 1);
    let (inputs, outputs) =
        (Layout::new(library.ports(), Direction::Input), Layout::new(library.ports(), Direction::Output));
    let (mut now, mut out, mut rng) = (vec![0; inputs.words()], vec![0; outputs.words()], Rng::new(3));
    for cycle in 0..200 {
        let before = now.clone();
        for (_, slot) in inputs.iter() {
            match cycle {
                10 => slot.copy_from(&mut now, &[u32::MAX; 8]),
                11 => slot.copy_from(&mut now, &[]),
                _ => rng.fill(slot, &mut now),
            }
        }
        model.cycle(&now, &mut out).unwrap();
        for (name, slot) in inputs.iter() {
            let stem = name.trim_start_matches('a').trim_end_matches("_i");
            let direct = outputs.slot(&format!("a{stem}_o")).unwrap();
            assert_eq!(direct.slice(&out), slot.slice(&now), "cycle {cycle}, {stem} bits");
            let registered = outputs.slot(&format!("r{stem}_o")).unwrap();
            if cycle > 0 {
                assert_eq!(
                    registered.slice(&out),
                    slot.slice(&before),
                    "cycle {cycle}, {stem} bits, registered"
                );
            }
        }
    }
}

#[test]
fn bits_above_the_width_do_not_get_in() {
    let verilog =
        "module cut (input [2:0] a_i, output [3:0] b_o);\n  assign b_o = {1'b0, a_i} + 4'd1;\nendmodule\n";
    let mut model = instance(&build(&spec("cut", verilog, "a_i:3 b_o:4")), 1);
    let mut out = [0];
    model.cycle(&[u32::MAX], &mut out).unwrap();
    assert_eq!(out, [8]);
}

#[test]
fn a_counter_counts_from_reset_in_batches_and_single_cycles() {
    let library = build(&counter());
    let mut model = instance(&library, 9);
    let inputs: Vec<u32> = (0..100).flat_map(|c| [u32::from(c >= 2), 1, 0]).collect();
    let mut outputs = vec![0; 300];
    model.run_batch(100, &inputs, &mut outputs).unwrap();
    for cycle in 2..100 {
        assert_eq!(outputs[3 * cycle], cycle as u32 - 2, "cycle {cycle}");
    }
    let mut one = [0; 3];
    model.cycle(&[1, 0, 0], &mut one).unwrap();
    model.cycle(&[1, 0, 5], &mut one).unwrap(); // $display
    assert_eq!((one[0], model.cycles()), (98, 102));
    let wrong = model.run_batch(2, &[0; 5], &mut [0; 6]).unwrap_err();
    assert!(wrong.message.contains("inputs hold 5 words"), "{wrong}");
    model.cycle(&[1, 0, 0], &mut one).unwrap();
}

/// Inputs come at the clock's edge where the design cannot tell, and before it where it is built for waveforms, or has other edges.
#[test]
fn inputs_of_a_cycle_are_seen_by_the_edge_that_ends_it() {
    // The first edge at which `slow_o` takes `a_i`; then every other one.
    for (first, other) in [
        (1, "always @(negedge clk_i) fell_o <= a_i; always @(posedge half) slow_o <= a_i;"),
        (0, "always @(*) fell_o = a_i; always @(posedge clk_i) if (half) slow_o <= a_i;"),
    ] {
        let verilog = format!(
            "module edges (input clk_i, input [7:0] a_i, output reg [7:0] rose_o, output reg [7:0] fell_o,\n  \
             output reg [7:0] slow_o, output [7:0] now_o);\n  reg half = 1'b1;\n  initial rose_o = 8'd77;\n  \
             assign now_o = a_i + rose_o;\n  always @(posedge clk_i) begin rose_o <= a_i; half <= ~half; end\n  \
             {other}\nendmodule\n"
        );
        let plain = spec("edges", &verilog, "clk_i a_i:8 rose_o:8 fell_o:8 slow_o:8 now_o:8");
        for spec in [plain.clone(), plain.trace(Some(WaveFormat::Vcd))] {
            let mut model = instance(&build(&spec), 1);
            let a = |cycle: u32| (cycle * 37 + 5) & 255;
            for cycle in 0..50 {
                let mut out = [0; 4];
                model.cycle(&[a(cycle)], &mut out).unwrap();
                let [rose, fell, slow, now] = out;
                let before = if cycle == 0 { 77 } else { a(cycle - 1) };
                assert_eq!((rose, now), (before, (a(cycle) + before) & 255), "cycle {cycle}: {other}");
                if cycle > 0 {
                    assert_eq!(fell, a(cycle), "cycle {cycle}: {other}");
                }
                if cycle > first {
                    assert_eq!(slow, a(cycle - 1 - (cycle - 1 - first) % 2), "cycle {cycle}: {other}");
                }
            }
        }
    }
}

/// A block with an asynchronous reset, which is an edge of an input.
#[test]
fn a_block_for_waveforms_does_what_it_does_without() {
    let block = BlockSpec::new("kernel_scheduler", Request { slots: 4, ..Request::default() }).unwrap();
    let form = emit::Form { reset: ResetKind::Asynchronous, ..emit::Form::default() };
    let design = emit::emit_as(&*block.hardware(), &form).unwrap();
    let plain =
        BuildSpec::new(&design.top().name, output::verilog_files(&design), design.top().ports.clone());
    let (with, without) = (build(&plain.clone().trace(Some(WaveFormat::Vcd))), build(&plain.trace(None)));
    let (mut with, mut without) = (instance(&with, 1), instance(&without, 2));
    let inputs = Layout::new(&design.top().ports, Direction::Input);
    let outputs = Layout::new(&design.top().ports, Direction::Output);
    let (mut now, mut rng) = (vec![0; inputs.words()], Rng::new(5));
    let mut seen = [vec![0; outputs.words()], vec![0; outputs.words()]];
    for cycle in 0..3000_u32 {
        for (name, slot) in inputs.iter() {
            rng.fill(slot, &mut now);
            if name == "rst_ni" {
                slot.set(&mut now, u128::from(cycle >= 3 && cycle % 97 > 1));
            }
        }
        with.cycle(&now, &mut seen[0]).unwrap();
        without.cycle(&now, &mut seen[1]).unwrap();
        assert!(cycle < 3 || seen[0] == seen[1], "cycle {cycle}");
    }
}

/// Ports are compared, whatever is around a design.
#[test]
fn ports_that_are_not_those_of_the_list_are_named() {
    let verilog = "module odd (input clk_i, input [7:0] a_i, output reg [3:0] b_o);\n  always @(posedge clk_i) b_o <= a_i;\nendmodule\n";
    let mut model = instance(&build(&spec("odd", verilog, "clk_i a_i:8 b_o:4")), 1);
    let mut out = [0];
    model.cycle(&[0x3c], &mut out).unwrap();
    model.cycle(&[0], &mut out).unwrap();
    assert_eq!(out, [0xc]);
    let verilog = "module pins (input clk_i, input [7:0] a_i, input c_i, output reg [7:0] b_o);\n  always @(posedge clk_i) b_o <= a_i;\nendmodule\n";
    for (list, problem) in [
        ("clk_i a_i:9 b_o:8 c_i", "`a_i` is 8 bits wide in the Verilog module, not 9"),
        ("clk_i a_i:8 b_o:8 c_o", "`c_o` is not a port of the Verilog module"),
        ("clk_i a_i:8 b_o:8", "the Verilog module has a port `c_i` that is not in the list"),
    ] {
        let spec = spec("pins", verilog, list);
        match Verilated::build(&spec, &verilator_common::cache()) {
            Err(BuildError::Ports { problems, .. }) => {
                assert!(problems.iter().any(|p| p == problem), "{problems:?}")
            }
            other => panic!("{list}: {other:?}"),
        }
    }
    // Directions: the list says how they are named.
    for (ports, verilog) in [
        (
            "clk_i a_i:8 b_i:8",
            "module turned (input clk_i, input [7:0] a_i, output reg [7:0] b_i);\n  always @(posedge clk_i) b_i <= a_i;\nendmodule\n",
        ),
        (
            "clk_i a_o:8 b_o:8",
            "module turned (input clk_i, input [7:0] a_o, output reg [7:0] b_o);\n  always @(posedge clk_i) b_o <= a_o;\nendmodule\n",
        ),
    ] {
        let built = Verilated::build(&spec("turned", verilog, ports), &verilator_common::cache());
        assert!(matches!(built, Err(BuildError::Ports { .. })), "{ports}: {built:?}");
    }
}

#[test]
fn stops_name_cycle_and_message() {
    let library = build(&counter());
    for (fail, message) in [
        (1, "$stop at counter.v:6"),
        (2, "counter.v:7: Assertion failed in TOP.counter: the end is near"),
        (3, "$finish at counter.v:8"),
        (4, "counter.v:10: Assertion failed in TOP.counter.not_four: four at count 0"),
    ] {
        let mut model = instance(&library, 1);
        let inputs = [[0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 0, fail], [1, 0, 0]].concat();
        let error = model.run_batch(5, &inputs, &mut [0; 15]).unwrap_err();
        assert_eq!((error.cycle, error.message.as_str()), (3, message));
        assert_eq!(model.cycle(&[1, 0, 0], &mut [0; 3]), Err(error), "it stays stopped");
    }
}

#[test]
fn a_combinational_loop_is_an_error_not_a_hang() {
    let verilog = "/* verilator lint_off UNOPTFLAT */\nmodule comb_loop (input a_i, output b_o);\n  wire x;\n  assign x = ~(x & a_i);\n  assign b_o = x;\nendmodule\n";
    let mut model = instance(&build(&spec("comb_loop", verilog, "a_i b_o")), 1);
    model.cycle(&[0], &mut [0]).unwrap();
    let error = model.cycle(&[1], &mut [0]).unwrap_err();
    assert_eq!(error.cycle, 1);
    assert!(error.message.contains("did not converge"), "{error}");
}

#[test]
fn uninitialised_state_comes_from_the_seed() {
    let library = build(&counter());
    let first = |seed| {
        let mut out = [0; 3];
        instance(&library, seed).cycle(&[1, 0, 0], &mut out).unwrap();
        out
    };
    assert_eq!(first(1), first(1));
    assert_ne!(first(1), first(2));
    assert_ne!(first(0)[1..], [0, 0]);
}

#[test]
fn instances_on_many_threads_do_not_disturb_each_other() {
    let library = build(&counter());
    let run = |seed: u64| {
        let mut model = instance(&library, seed);
        let (mut out, mut all) = ([0; 3], Vec::new());
        for cycle in 0..500 {
            model.cycle(&[u32::from(cycle != 0), u32::from(cycle % 7 < seed % 7), 0], &mut out).unwrap();
            all.extend(out);
        }
        all
    };
    let alone: Vec<_> = (0..8).map(run).collect();
    let together: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|seed| scope.spawn(move || run(seed))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
    // An instance may move to another thread between cycles, and several may live on one.
    let (mut a, mut b) = (instance(&library, 1), instance(&library, 2));
    let mut out = [0; 3];
    for _ in 0..3 {
        a.cycle(&[0, 0, 0], &mut out).unwrap();
        b.cycle(&[1, 1, 0], &mut out).unwrap();
    }
    let mut a = std::thread::spawn(move || {
        a.cycle(&[1, 1, 0], &mut [0; 3]).unwrap();
        a
    })
    .join()
    .unwrap();
    drop(b);
    a.cycle(&[1, 1, 0], &mut out).unwrap();
    assert_eq!(out[0], 1);
}

#[test]
fn a_vcd_holds_the_window_that_was_asked_for() {
    let library = build(&counter().trace(Some(WaveFormat::Vcd)));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.vcd");
    let wave = Wave::new(&path).unwrap().window(10, 13).unwrap();
    let mut model = library.instance(InstanceOptions { seed: 1, wave: Some(wave) }).unwrap();
    for cycle in 0..30 {
        model.cycle(&[u32::from(cycle > 0), 1, 0], &mut [0; 3]).unwrap();
    }
    // Closed at the end of its window, not only with the model.
    let text = fs::read_to_string(&path).unwrap();
    let times: Vec<&str> = text.lines().filter(|l| l.starts_with('#')).collect();
    assert_eq!(times, ["#20", "#21", "#22", "#23", "#24", "#25"]);
    assert!(text.contains("count_o"), "{text}");
    assert!(text.contains(&format!("b{:016b} ", 9)), "cycle 10 shows count 9:\n{text}");
}

#[test]
fn a_wave_ends_with_the_cycle_that_stopped() {
    let library = build(&counter().trace(Some(WaveFormat::Vcd)));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.vcd");
    let mut model =
        library.instance(InstanceOptions { seed: 1, wave: Some(Wave::new(&path).unwrap()) }).unwrap();
    model.run_batch(3, &[[0, 0, 0], [1, 0, 0], [1, 0, 1]].concat(), &mut [0; 9]).unwrap_err();
    assert!(fs::read_to_string(&path).unwrap().contains("\n#4\n"));
}

#[test]
fn an_fst_is_written() {
    let library = build(&counter().trace(Some(WaveFormat::Fst)));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.fst");
    let wave = Wave::new(&path).unwrap();
    let mut model = library.instance(InstanceOptions { seed: 1, wave: Some(wave) }).unwrap();
    for _ in 0..10 {
        model.cycle(&[0, 1, 0], &mut [0; 3]).unwrap();
    }
    model.close_wave().unwrap();
    assert!(fs::metadata(&path).unwrap().len() > 200);
}

#[test]
fn a_wave_without_a_cycle_keeps_the_file_that_was_there() {
    for format in ["vcd", "fst"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a").with_extension(format);
        fs::write(&path, "old").unwrap();
        let wave = Wave::new(&path).unwrap().window(10, 20).unwrap();
        let library = build(&counter().trace(Some(wave.format())));
        let mut model = library.instance(InstanceOptions { seed: 1, wave: Some(wave.clone()) }).unwrap();
        model.run_batch(3, &[0; 9], &mut [0; 9]).unwrap();
        let error = model.close_wave().unwrap_err();
        assert_eq!(error, Unwritten::Nothing { path: path.clone(), from: 10, cycles: 3 });
        assert!(error.to_string().contains("only 3 cycles; choose a smaller --from"), "{error}");
        assert_eq!((wave.failure(), model.close_wave()), (Some(&error), Err(error.clone())));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

#[cfg(unix)]
#[test]
fn two_runs_write_the_same_wave_without_disturbing_each_other() {
    use std::os::unix::fs::PermissionsExt;
    for format in ["vcd", "fst"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a").with_extension(format);
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        // Somebody else's.
        fs::write(path.with_extension(format!("{format}.part")), "mine").unwrap();
        let library = build(&counter().trace(Some(WaveFormat::of(&path).unwrap())));
        let instance = || {
            let wave = Some(Wave::new(&path).unwrap());
            library.instance(InstanceOptions { seed: 1, wave }).unwrap()
        };
        let (mut short, mut long, mut whole) = (instance(), instance(), Vec::new());
        let run = |model: &mut Verilated, cycles| {
            (0..cycles).for_each(|_| model.cycle(&[1, 1, 0], &mut [0; 3]).unwrap());
        };
        run(&mut short, 3);
        run(&mut long, 300);
        run(&mut short, 1);
        for model in [&mut long, &mut short] {
            model.close_wave().unwrap();
            whole.push(fs::read(&path).unwrap());
        }
        assert!(whole[0].len() > whole[1].len(), "{format}");
        if format == "vcd" {
            let last = |text: &[u8]| -> String {
                let text = String::from_utf8_lossy(text);
                text.lines().rfind(|line| line.starts_with('#')).unwrap_or_default().into()
            };
            assert_eq!((last(&whole[0]), last(&whole[1])), ("#599".into(), "#7".into()));
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_to_string(path.with_extension(format!("{format}.part"))).unwrap(), "mine");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}

#[test]
fn a_wave_that_cannot_be_put_into_place_is_an_error_of_its_own() {
    let library = build(&counter().trace(Some(WaveFormat::Vcd)));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.vcd");
    let wave = Wave::new(&path).unwrap().window(0, 2).unwrap();
    let mut model = library.instance(InstanceOptions { seed: 1, wave: Some(wave.clone()) }).unwrap();
    fs::create_dir(&path).unwrap();
    // The run has its results all the same.
    model.run_batch(3, &[0; 9], &mut [0; 9]).unwrap();
    let error = wave.failure().expect("it was closed with its last cycle");
    assert!(matches!(error, Unwritten::Failed { path: wanted, .. } if *wanted == path), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// The writer of FST would remove it, and end the process where it cannot map what it wrote.
#[cfg(unix)]
#[test]
fn an_fst_never_goes_to_a_pipe() {
    let library = build(&counter().trace(Some(WaveFormat::Fst)));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.fst");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let _open = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let wave = Some(Wave::new(&path).unwrap());
    let error = library.instance(InstanceOptions { seed: 1, wave }).map(drop).unwrap_err();
    assert!(error.to_string().contains("a .vcd can go to a pipe"), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_wave_that_cannot_be_written_is_refused_at_once() {
    let wave = |path: &str| InstanceOptions { seed: 1, wave: Some(Wave::new(path).unwrap()) };
    let plain = build(&counter());
    assert!(matches!(plain.instance(wave("a.vcd")), Err(InstanceError::Trace { .. })));
    let traced = build(&counter().trace(Some(WaveFormat::Vcd)));
    assert!(matches!(traced.instance(wave("a.fst")), Err(InstanceError::Trace { .. })));
    // Below a file.
    assert!(matches!(traced.instance(wave("Cargo.toml/a.vcd")), Err(InstanceError::WaveFile { .. })));
}

#[test]
fn wrong_ports_are_all_named() {
    let mut wrong = counter();
    wrong.ports = ports("clk_i rst_ni en_i fail_i:4 count_o:15 raw_o:64 more_o");
    match Verilated::build(&wrong, &verilator_common::cache()) {
        Err(BuildError::Ports { problems, .. }) => assert_eq!(
            problems,
            [
                "`fail_i` is 3 bits wide in the Verilog module, not 4",
                "`count_o` is 16 bits wide in the Verilog module, not 15",
                "`more_o` is not a port of the Verilog module"
            ]
        ),
        other => panic!("{other:?}"),
    }
}
