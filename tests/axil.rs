//! A front end as a memory-mapped device: its driver, in C++ beside generated RTL, and what its registers promise, proved.

mod rdl;
mod smtbmc;

use smtbmc::smtbmc;
use std::path::Path;
use std::process::Command;
use windlass_gen::axil::REGISTERS;
use windlass_gen::tools::{self, Tool};

const PAGE: &str = include_str!("../docs/integration.md");
const REGISTERS_TEXT: &str = include_str!("../gen/src/axil/registers.v");
const PROPERTIES: &str = include_str!("../gen/src/axil/properties.sv");

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// A design with registers in a folder, which all tools read without a word; its top module. With so many places in its queue, its registers in
/// SystemRDL are those of its header.
fn generated(folder: &Path, arguments: &str, queue_bits: u32) -> String {
    let gen_command = &mut Command::new(env!("CARGO_BIN_EXE_windlass"));
    let said =
        output(gen_command.args(["gen", "--axil"]).args(arguments.split(' ')).arg("--out").arg(folder));
    let top = said.split(' ').next().unwrap_or_default().to_string();
    let (axil, list) = (format!("{top}_axil"), format!("{top}_axil.f"));
    let here = |program: &str, or: &str| {
        let mut command = Command::new(std::env::var(program).unwrap_or_else(|_| or.into()));
        command.current_dir(folder);
        command
    };
    output(here("VERILATOR", "verilator").args(["--lint-only", "-Wall", "--top-module", &axil, "-f", &list]));
    let iverilog = &mut here("IVERILOG", "iverilog");
    let read = iverilog.args(["-g2005", "-Wall", "-o", "axil", "-s", &axil, "-f", &list]).output();
    let read = read.expect("a compiler");
    let warned = String::from_utf8_lossy(&read.stderr);
    assert!(read.status.success() && warned.is_empty(), "{top}: {warned}");
    let files = std::fs::read_to_string(folder.join(&list)).expect("a list").replace('\n', " ");
    let (yosys, _) = tools::locate(Tool::Yosys).unwrap_or_else(|e| panic!("{e}"));
    let script = format!("read_verilog {files}; hierarchy -check -top {axil}; proc; check -assert");
    output(Command::new(yosys).current_dir(folder).args(["-q", "-p", &script]));
    let header = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c"];
    let use_it = "#ifdef WINDLASS_LANES\nvoid use(struct windlass_packet *packet);\nvoid use(struct windlass_packet *packet) { packet->up_id[WINDLASS_LANES - 1] = packet->up_valid; }\n#endif\n";
    std::fs::write(folder.join("driver.c"), format!("#include \"{axil}.h\"\n{use_it}")).expect("written");
    output(here("CC", "cc").args(header).arg("driver.c"));
    let registers = rdl::elaborated(queue_bits, &[folder.join(format!("{axil}.rdl"))]).remove(0);
    rdl::is_the_headers(&registers, folder, &top, queue_bits).unwrap_or_else(|e| panic!("{top}: {e}"));
    top
}

/// What docs/integration/axil.cpp says of it, and what it prints of the registers.
fn simulated(folder: &Path, top: &str, queue_bits: u32) -> (String, String) {
    let software = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/integration/axil.cpp");
    let header = format!("-DHEADER='\"../{top}_axil.h\"' -DWINDLASS_QUEUE={}u", 1 << queue_bits);
    let verilator = std::env::var("VERILATOR").unwrap_or_else(|_| "verilator".into());
    output(
        Command::new(verilator)
            .current_dir(folder)
            .args(["--cc", "--exe", "--build", "-O0", "-Wno-fatal", "--prefix", "Vtop", "--top-module"])
            .args([&format!("{top}_axil"), &format!("-GQUEUE_BITS={queue_bits}"), "-CFLAGS", &header])
            // It runs for a moment.
            .args(["-MAKEFLAGS", "OPT_FAST=-O0 OPT_GLOBAL=-O0"])
            .args(["-f", &format!("{top}_axil.f"), software]),
    );
    let program = folder.join("obj_dir/Vtop");
    let ran = Command::new(&program).output().expect("it runs");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.success(), said.starts_with("PASSED: "), "{}: {said}", ran.status);
    (said, output(Command::new(program).arg("map")))
}

#[test]
fn software_launches_kernels_through_registers() {
    let (_, rest) = PAGE.split_once("windlass gen --axil ").expect("a command");
    let (arguments, rest) = rest.split_once(" --out build/rtl\ntop=").expect("a folder");
    let words = |text: &str| text.replace("\\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let top = generated(folder, &words(arguments), 4);
    assert!(rest.starts_with(&top), "{top}");
    let (said, answers) = simulated(folder, &top, 4);
    assert!(
        said.starts_with("PASSED") && PAGE.contains(&said),
        "the page shows something else; now:\n{said}"
    );

    // The registers in SystemRDL are those of the hardware, and what is wrong in them is found.
    let text = std::fs::read_to_string(folder.join(format!("{top}_axil.rdl"))).expect("a description");
    let wrong = [
        ("} WAIT_FOR @ 0x024", "} WAIT_FOR @ 0x034"),
        ("} PACKET[4] @ 0x040", "} PACKET[4] @ 0x060"),
        ("} PACKET[4] @ 0x040", "} PACKET[3] @ 0x040"),
        ("} COUNTERS[13]", "} COUNTERS[12]"),
        ("} COUNTERS[13] @ 0x200 += 8", "} COUNTERS[13] @ 0x200 += 16"),
        ("OLDEST[23:16]", "OLDEST[22:16]"),
        ("HOST[0:0] = 0", "HOST[5:5] = 0"),
        ("74:72 part;", "82:80 part;"),
        ("VALUE[31:0] = 0x574e444c", "VALUE[31:0] = 0x574e444d"),
        ("SMS[31:16] = 4", "SMS[31:16] = 5"),
        ("1 << QUEUE_BITS", "8"),
        ("IDLE[26:26] = 1", "IDLE[26:26] = 0"),
        ("sw = rw; hw = r; } ERRORS", "sw = r; hw = r; } ERRORS"),
        ("sw = w; hw = r; onwrite = wuser; } LAST[0:0]", "sw = rw; hw = r; } LAST[0:0]"),
        ("sw = r; hw = w; } KERNELS[31:0]", "sw = r; hw = w; onread = rclr; } KERNELS[31:0]"),
        ("hw = w; onwrite = woclr; hwset; } DONE", "hw = w; } DONE"),
        ("hw = w; onwrite = woclr; hwset; } BEAT_LOST", "hw = w; onwrite = wzc; hwset; } BEAT_LOST"),
        ("desc = \"kernels in the window\"", "desc = \"kernels\""),
    ];
    let mut files = vec![folder.join(format!("{top}_axil.rdl"))];
    for (n, (right, wrong)) in wrong.iter().enumerate() {
        assert!(text.contains(right), "{right}: {text}");
        files.push(folder.join(format!("wrong_{n}.rdl")));
        std::fs::write(&files[n + 1], text.replacen(right, wrong, 1)).expect("written");
    }
    let mut read = rdl::elaborated(4, &files).into_iter();
    let right = read.next().expect("registers");
    rdl::is_the_hardwares(&right, &answers).unwrap_or_else(|e| panic!("{e}"));
    for ((_, wrong), registers) in wrong.iter().zip(read) {
        let header = rdl::is_the_headers(&registers, folder, &top, 4);
        assert!(header.is_err() || rdl::is_the_hardwares(&registers, &answers).is_err(), "{wrong}");
    }
}

#[test]
fn software_launches_kernels_with_masks() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = "--block front_end --slots 8 --sms 8 --encoding mask --scheduled 32";
    let top = generated(folder.path(), arguments, 3);
    let (said, answers) = simulated(folder.path(), &top, 3);
    assert!(said.starts_with("PASSED"), "{said}");
    let registers = rdl::elaborated(3, &[folder.path().join(format!("{top}_axil.rdl"))]).remove(0);
    rdl::is_the_hardwares(&registers, &answers).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn registers_are_put_around_every_kind_of_front_end() {
    for (arguments, queue_bits) in [
        ("--slots 8 --window list --sms 12 --sm-ctas 4 --hold-idle --prefix acme_", 1),
        ("--slots 8 --pipelined --sms 5 --reset async --lanes 3", 6),
        ("--slots 4 --sms 8 --arbiter single --places 4 --retire-ports 4 --lanes 1", 4),
        ("--slots 16 --sms 8 --encoding mask --scheduled 128 --arbiter single", 4),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        generated(folder.path(), &format!("--block front_end {arguments}"), queue_bits);
    }
    let other = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["gen", "--axil", "--block", "window_matrix", "--slots", "4", "--out"])
        .arg(tempfile::tempdir().expect("a folder").path().join("rtl"))
        .output()
        .expect("windlass");
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(said.contains("no registers for window_matrix") && said.contains("(option --axil)"), "{said}");
}

/// Every bit of every port of the modules around a design has the budget of one side, once, but for bits of TDATA that are in no field; nothing
/// else is named.
#[test]
fn constraints_are_written_for_the_modules_around_a_design() {
    for arguments in
        ["--slots 4 --sms 8 --lanes 3", "--slots 8 --sms 8 --encoding mask --scheduled 32 --hold-idle"]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let top = generated(folder.path(), &format!("--block front_end {arguments} --library osu018"), 4);
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("written");
        let data: serde_json::Value = serde_json::from_str(&read(&format!("{top}.json"))).expect("JSON");
        let mut padding = std::collections::BTreeSet::new();
        for stream in data["axis"]["streams"].as_array().expect("streams") {
            let name = stream["name"].as_str().expect("a name");
            let bit = |bit: u64| format!("{name}_tdata[{bit}]");
            padding.extend((0..stream["bits"].as_u64().expect("bits")).map(bit));
            for field in stream["fields"].as_array().expect("fields") {
                let (offset, width) = (field["offset"].as_u64(), field["width"].as_u64());
                let offset = offset.expect("an offset");
                (offset..offset + width.expect("a width")).for_each(|b| _ = padding.remove(&bit(b)));
            }
        }
        for around in ["axis", "axil"] {
            let (module, sdc) = (read(&format!("{top}_{around}.v")), read(&format!("{top}_{around}.sdc")));
            let (header, _) = module.split_once("\n);\n").expect("a header");
            // Bits of its ports, by direction.
            let mut ports = [std::collections::BTreeSet::new(), std::collections::BTreeSet::new()];
            for line in header.lines() {
                let words: Vec<&str> = line.trim().trim_end_matches(',').split(' ').collect();
                let [direction @ ("input" | "output"), "wire", rest @ ..] = &words[..] else { continue };
                let own = &mut ports[usize::from(*direction == "output")];
                match rest {
                    [name] => _ = own.insert((*name).to_owned()),
                    [range, name] => {
                        let most: u32 =
                            range.trim_start_matches('[').trim_end_matches(":0]").parse().expect("a range");
                        own.extend((0..=most).map(|bit| format!("{name}[{bit}]")));
                    }
                    _ => panic!("{line}"),
                }
            }
            for (own, commands) in ports
                .iter()
                .zip([["set_input_delay -max", "set_driving_cell"], ["set_output_delay -max", "set_load"]])
            {
                for command in commands {
                    let mut rest = own.clone();
                    let lines = sdc.lines().filter(|line| line.starts_with(command));
                    for name in lines.flat_map(|line| {
                        line[line.find("get_ports {").expect("ports") + 11..]
                            .trim_end_matches("}]")
                            .split(' ')
                    }) {
                        let before = rest.len();
                        match name.strip_suffix("[*]") {
                            Some(vector) => rest.retain(|bit| !bit.starts_with(&format!("{vector}["))),
                            None => _ = rest.remove(name),
                        }
                        assert!(rest.len() < before, "{top}_{around}: {command}: {name}");
                    }
                    rest.retain(|bit| !padding.contains(bit) && bit != "aclk");
                    assert!(rest.is_empty(), "{top}_{around}: {command}: {rest:?}");
                }
            }
            assert!(sdc.contains("create_clock -name clk_i -period 5.000 [get_ports {aclk}]"), "{sdc}");
            assert!(read(&format!("{top}_{around}.pcf")).contains("set_frequency aclk "));
        }
    }
}

#[test]
fn the_page_has_every_register() {
    for register in REGISTERS {
        let (name, offset) = (register.name, register.offset);
        let (access, described) = (register.access.name(), register.described());
        let row = format!("| `0x{offset:03x}` | `{name}` | {access} | {described} |");
        assert!(PAGE.contains(&row), "{row}");
        // The hardware counts words.
        let word = format!("{name} = 10'h{:03x}", offset / 4);
        assert!(REGISTERS_TEXT.contains(&word), "{word}");
    }
}

/// The registers with their properties, as an SMT problem of so many words per packet and places of the queue.
fn problem(folder: &Path, text: &str, words: u32, queue_bits: u32) {
    let (module, _) = text.rsplit_once("endmodule").expect("a module");
    std::fs::write(folder.join("registers.sv"), format!("{module}\n{PROPERTIES}\nendmodule\n`endif\n"))
        .expect("written");
    let (yosys, _) = tools::locate(Tool::Yosys).unwrap_or_else(|e| panic!("{e}"));
    let script = format!(
        "read_verilog -formal -sv registers.sv; chparam -set WORDS {words} -set QUEUE_BITS {queue_bits} front_end_registers; hierarchy -top front_end_registers; prep; flatten; memory_map; opt -fast; dffunmap; write_smt2 -wires registers.smt2"
    );
    output(Command::new(yosys).current_dir(folder).args(["-q", "-p", &script]));
}

/// By induction, with a queue as it is shipped; all that must be possible is reached with a short one.
#[test]
fn registers_keep_what_they_promise() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str]| smtbmc(folder.path(), "registers.smt2", arguments);
    problem(folder.path(), REGISTERS_TEXT, 2, 4);
    for arguments in [&["-t", "5"][..], &["-i", "-t", "4"]] {
        let said = run(arguments);
        assert!(said.contains("Status: PASSED"), "{said}");
    }
    problem(folder.path(), REGISTERS_TEXT, 2, 1);
    let said = run(&["-c", "-t", "12"]);
    let all = PROPERTIES.matches("cover (").count();
    assert_eq!(said.matches("Reached cover statement").count(), all, "{said}");
    for (right, wrong, rule) in [
        ("if (s_axi_bready) s_axi_bvalid <= 1'b0;", "s_axi_bvalid <= 1'b0;", "write_answer_stays"),
        ("if (s_axi_rready) s_axi_rvalid <= 1'b0;", "s_axi_rvalid <= 1'b0;", "read_answer_stays"),
        ("is_writable && !beat_lost", "is_writable", "write_is_answered_truly"),
        ("|| aw_q == DOORBELL;", ";", "write_is_answered_truly"),
        ("aw_q == DOORBELL && strobe_q[0];", "aw_q == DOORBELL;", "beats_are_counted"),
        ("strobe_q[1:0] == 2'b11", "strobe_q[0]", "partition_stays"),
        ("&& !partition_half", "", "write_is_answered_truly"),
        ("TAKEN: value = taken_q;", "TAKEN: value = done_q;", "read_is_answered_truly"),
        ("if (is_count && !ar_q[0])", "if (is_count)", "upper_is_kept"),
        ("waited_q == 2'd2", "waited_q == 2'd1", "counter_was_named"),
        ("if (beat_comes) in_q <=", "if (rings) in_q <=", "beats_are_counted"),
        ("!host_valid_o || host_ready_i) begin", "1'b1) begin", "beat_stays"),
        ("out_q[QUEUE_BITS-1:0]];", "in_q[QUEUE_BITS-1:0]];", "beats_come_in_order"),
        ("if (partitions && !part_valid_o)", "if (partitions)", "partition_stays"),
        ("(errors_q & ~cleared) | errors", "(errors_q | errors) & ~cleared", "state_is_described"),
        ("wire [7:0] unfinished = oldest_valid_i ?", "wire [7:0] unfinished = 1'b1 ?", "state_is_described"),
        ("irq <= pending != 9'd0", "irq <= pending[4:0] != 5'd0", "irq_has_a_reason"),
    ] {
        assert_eq!(REGISTERS_TEXT.matches(right).count(), 1, "{right}");
        problem(folder.path(), &REGISTERS_TEXT.replace(right, wrong), 2, 1);
        // What takes a full queue is seen by induction: many cycles by themselves take long.
        let seen = |said: &str| said.contains("Assert failed") && said.contains(rule);
        let said = run(&["-t", "6"]);
        let said = if seen(&said) { said } else { run(&["-i", "-t", "4"]) };
        assert!(seen(&said), "{wrong}: {said}");
    }
}
