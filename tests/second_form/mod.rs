//! The emitted Verilog is what the block says, for all inputs and all states: a solver compares it with a second form of the same
//! block, made by other code from rust-hdl's syntax trees (`smt.rs`), without Verilog. The Verilog comes as Yosys understands it.
//!
//! With inputs and registers alike, can an output differ, or what a register is next? If not, the two are alike for ever.

mod smt;

use rust_hdl::prelude::Block;
use smt::Logic;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use windlass_gen::emit::{self, Module};
use windlass_gen::tools::{self, Tool};
use windlass_rtl::port::Direction;

/// How many signals were compared, or where the two differ: a table of them all.
///
/// Module by module: where all modules are alike, and are given alike to each other, so is the whole, at any size.
pub fn compare(block: &dyn Block, change: impl Fn(String) -> String) -> Result<usize, String> {
    let design = emit::emit(block).unwrap_or_else(|e| panic!("{e}"));
    let modules: BTreeMap<_, _> =
        design.modules().iter().map(|module| (module.name.as_str(), module)).collect();
    let logics = smt::logic(block);
    assert_eq!(logics.len(), modules.len(), "modules of the two forms");
    let mut compared = 0;
    for logic in logics {
        let module = modules[logic.module.as_str()];
        let mut verilog = change(module.text.clone());
        for (name, of) in &logic.instances {
            assert!(verilog.contains(&format!("  {of} {name} (")), "{}: no {of} {name}", logic.module);
        }
        let within: BTreeSet<&str> = logic.instances.iter().map(|(_, of)| of.as_str()).collect();
        for module in within {
            verilog.push_str(&stub(modules[module]));
        }
        compared += compare_module(&logic, &as_smt(&logic.module, &verilog))
            .map_err(|table| format!("{}:\n{table}", logic.module))?;
    }
    Ok(compared)
}

/// A module with nothing in it.
fn stub(module: &Module) -> String {
    let ports = module.ports.iter().map(|port| {
        let direction = if port.direction == Direction::Input { "input" } else { "output" };
        format!("{direction} [{}:0] {}", port.width - 1, port.name)
    });
    format!("module {} ({});\nendmodule\n", module.name, ports.collect::<Vec<_>>().join(", "))
}

/// A signal in both forms: name, width, the term here, the term of the Verilog.
type Pair = (String, u32, String, String);

fn compare_module(logic: &Logic, verilog: &str) -> Result<usize, String> {
    let function = |name: &str| verilog.contains(&format!("(define-fun |top_n {name}| "));
    let pair = |(name, unknown, width): &(String, String, u32), state: &str| -> Pair {
        assert!(function(name), "the Verilog has no {name}");
        // A single bit is a Bool to Yosys.
        let bool = verilog.contains(&format!("(define-fun |top_n {name}| ((state |top_s|)) Bool "));
        let value = format!("(|top_n {name}| {state})");
        let value = if bool { format!("(ite {value} #b1 #b0)") } else { value };
        (name.clone(), *width, unknown.clone(), value)
    };
    // What is alike before. Inputs that nothing reads, and signals that the printer wrote in place, may be missing.
    let inputs = logic.inputs.iter().filter(|(name, ..)| function(name)).map(|signal| pair(signal, "s"));
    let registers = logic.registers.iter().map(|register| pair(&register.now, "s"));
    let before: Vec<Pair> = inputs.chain(registers).collect();
    // What has to be alike then; what comes from something else comes behind it.
    let locals = logic.locals.iter().filter(|(name, ..)| function(name)).map(|signal| pair(signal, "s"));
    let outputs = logic.outputs.iter().map(|signal| pair(signal, "s"));
    let next = logic.registers.iter().map(|register| {
        let (name, width, _, value) = pair(&register.now, "t");
        (format!("{name}, next"), width, register.next.clone(), value)
    });
    let after: Vec<Pair> = locals.chain(outputs).chain(next).collect();

    let mut text = format!("(set-logic QF_UFBV)\n{verilog}\n{}", logic.text);
    text.push_str("(declare-fun s () |top_s|)\n(declare-fun t () |top_s|)\n(assert (|top_t| s t))\n");
    before.iter().for_each(|(_, _, a, b)| text.push_str(&format!("(assert (= {a} {b}))\n")));
    // Bit by bit, but for data that is only carried; what was answered helps with the next. (Asked for bit 63 of a sum of 64,
    // Yices 2.6.5 gave states in which nothing differs.)
    let mut questions = text.clone();
    let mut asked = Vec::new();
    for (name, width, a, b) in &after {
        let bits = if *width >= 64 { 64 } else { 1 };
        for lo in (0..*width).step_by(bits) {
            let hi = (lo + bits as u32).min(*width) - 1;
            let part = |term: &str| format!("((_ extract {hi} {lo}) {term})");
            let different = format!("(distinct {} {})", part(a), part(b));
            questions.push_str(&format!("(push 1)\n(assert {different})\n(check-sat)\n(pop 1)\n"));
            questions.push_str(&format!("(assert (not {different}))\n"));
            asked.push((name, different));
        }
    }
    let answers = solve(&questions);
    let answers: Vec<&str> = answers.lines().collect();
    assert_eq!(answers.len(), asked.len(), "answers of the solver");
    let Some(at) = answers.iter().position(|answer| *answer != "unsat") else { return Ok(after.len()) };
    let (name, different) = &asked[at];
    assert_eq!(answers[at], "sat", "{name}: the solver does not know");

    text.push_str(&format!("(assert {different})\n(check-sat)\n"));
    let shown = || before.iter().chain(&after);
    text.extend(shown().map(|(_, _, a, b)| format!("(get-value ({a}))\n(get-value ({b}))\n")));
    let said = solve(&text);
    let values = values(&said);
    let lines = shown().zip(values.chunks(2)).map(|((name, ..), value)| match value {
        [a, b] if a == b => format!("{name} = {a}"),
        _ => format!("{name}: second form and Verilog differ: {value:?}"),
    });
    Err(lines.collect::<Vec<_>>().join("\n"))
}

/// The values in a solver's answers: `(((f s) #b0))` has one, at its end, after a term that may have digits, too.
fn values(said: &str) -> Vec<&str> {
    let mut values = Vec::new();
    let (mut depth, mut last) = (0, "");
    for word in said.split_whitespace() {
        if word.contains("#b") {
            last = word.trim_start_matches('(').trim_end_matches(')');
        }
        depth += word.matches('(').count() as i64 - word.matches(')').count() as i64;
        if depth == 0 && word.ends_with(')') {
            values.push(last);
        }
    }
    values
}

/// The Verilog, flattened, as Yosys writes it for a solver.
fn as_smt(top: &str, verilog: &str) -> String {
    let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    std::fs::write(folder.path().join("design.v"), verilog).unwrap_or_else(|e| panic!("{e}"));
    let script = format!(
        "read_verilog design.v; setattr -mod -unset blackbox =*; hierarchy -check -top {top}; proc; flatten; \
         rename {top} top; memory_map; write_smt2 -wires design.smt2"
    );
    let yosys = tools::find(Tool::Yosys).unwrap_or_else(|e| panic!("{e}"));
    let output = yosys
        .command()
        .args(["-q", "-p", &script])
        .current_dir(folder.path())
        .output()
        .unwrap_or_else(|e| panic!("Yosys: {e}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(folder.path().join("design.smt2")).unwrap_or_else(|e| panic!("{e}"))
}

fn solve(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("{e}"));
    let file = folder.path().join("question.smt2");
    std::fs::write(&file, text).unwrap_or_else(|e| panic!("{e}"));
    let yices = tools::find(Tool::Yices).unwrap_or_else(|e| panic!("{e}"));
    let output = Command::new(&yices.path)
        .args(["--incremental", "--timeout=120"])
        .arg(&file)
        .output()
        .unwrap_or_else(|e| panic!("Yices: {e}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!said.contains("error"), "{said}");
    said
}
