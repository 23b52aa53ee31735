//! Registers as PyPI's `systemrdl-compiler` reads them from a description in SystemRDL, against the C header and what the bus answers.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use windlass_gen::cache;

/// Compiles files and prints all their registers, each element of an array by itself; a warning is an error.
const ELABORATE: &str = r#"
import json, sys
from systemrdl import RDLCompiler, warnings
from systemrdl.node import RegNode

def elaborated(file):
    compiler = RDLCompiler(warning_flags=warnings.ALL, error_flags=warnings.ALL)
    compiler.compile_file(file)
    top = compiler.elaborate(parameters={"QUEUE_BITS": int(sys.argv[1])}).top
    name = lambda value: getattr(value, "name", "")
    return [{
        "path": reg.get_rel_path(top), "address": reg.absolute_address,
        "texts": [node.get_property("desc") for node in (reg.parent, reg, *reg.fields()) if node != top],
        "fields": [{
            "name": field.inst_name, "low": field.low, "high": field.high, "reset": field.get_property("reset"),
            "sw": name(field.get_property("sw")), "onread": name(field.get_property("onread")),
            "onwrite": name(field.get_property("onwrite")),
        } for field in reg.fields()],
    } for reg in top.descendants(unroll=True) if isinstance(reg, RegNode)]

print(json.dumps([elaborated(file) for file in sys.argv[2:]]))
"#;

#[derive(Deserialize)]
struct Field {
    name: String,
    low: u32,
    high: u32,
    reset: Option<u32>,
    sw: String,
    onread: String,
    onwrite: String,
}

impl Field {
    fn mask(&self) -> u32 {
        u32::MAX >> (31 - (self.high - self.low)) << self.low
    }
}

#[derive(Deserialize)]
pub struct Register {
    path: String,
    address: u32,
    texts: Vec<String>,
    fields: Vec<Field>,
}

impl Register {
    /// Name, index and what of it: `COUNTERS[3].HIGH`.
    fn parts(&self) -> (&str, usize, &str) {
        let (name, rest) = self.path.split_once('[').unwrap_or((&self.path, "0]"));
        let (index, part) = rest.split_once(']').expect("an index");
        (name, index.parse().expect("a number"), part.trim_start_matches('.'))
    }

    /// The bits of some fields.
    fn mask(&self, of: impl Fn(&Field) -> bool) -> u32 {
        self.fields.iter().filter(|field| of(field)).fold(0, |mask, field| mask | field.mask())
    }
}

/// The registers of each of these files, with so many places in the queue.
pub fn elaborated(queue_bits: u32, files: &[PathBuf]) -> Vec<Vec<Register>> {
    let requirements = include_str!("../../scripts/requirements/systemrdl.txt");
    let (_, version) = requirements.split_once("systemrdl-compiler==").expect("a version");
    let (version, _) = version.split_once(' ').expect("hashes");
    let python = cache::root().expect("a cache").join(format!("systemrdl-{version}/bin/python"));
    let run = Command::new(&python)
        .args(["-I", "-c", ELABORATE, &queue_bits.to_string()])
        .args(files)
        .output()
        .unwrap_or_else(|e| panic!("{}, which scripts/setup.sh installs: {e}", python.display()));
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && said.is_empty(), "{said}");
    serde_json::from_slice(&run.stdout).expect("registers")
}

/// A text's list, as in `what it is: 0 one; 1 other`.
fn items(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let items = text.split_once(": ").map_or("", |(_, items)| items);
    items.split("; ").filter_map(|item| item.split_once(' '))
}

/// What must be true of the header in C, if it is of these registers.
fn claims(registers: &[Register]) -> Vec<String> {
    let mut claims = Vec::new();
    let mut lengths = BTreeMap::new();
    for register in registers {
        let (name, index, part) = register.parts();
        let at = match (name, part) {
            ("COUNTERS", "HIGH") => format!("8 * {index} + 4"),
            ("COUNTERS", _) => format!("8 * {index}"),
            _ => format!("4 * {index}"),
        };
        claims.push(format!("{} == WINDLASS_REG_{name} + {at}", register.address));
        let prefix = match name {
            "STATUS" => "STATUS",
            "ERRORS" => "ERROR",
            "IRQ" | "IRQ_ENABLE" => "IRQ",
            _ => "",
        };
        for field in &register.fields {
            let (mask, low, bits) = (field.mask(), field.low, format!("WINDLASS_{prefix}_{}", field.name));
            match (prefix, field.low == field.high) {
                ("", _) => {}
                (_, true) => claims.push(format!("{bits} == {mask}u")),
                (_, false) => {
                    claims.push(format!("{bits}(~0u) == {mask}u >> {low} && {bits}(~{mask}u) == 0"))
                }
            }
            let value = match (name, field.name.as_str()) {
                ("SHAPE", "SLOTS") => "WINDLASS_SLOTS",
                ("SHAPE", "SMS") => "WINDLASS_SMS",
                ("STATUS", "FREE") => "WINDLASS_QUEUE",
                _ => continue,
            };
            claims.push(format!("{value} == {}u", field.reset.expect("a value")));
        }
        lengths.insert(name, (index + 1, &register.texts[0]));
    }
    let (words, text) = lengths["PACKET"];
    claims.push(format!("WINDLASS_PACKET_WORDS == {words}"));
    claims.extend(items(text).map(|(bits, field)| is_at(bits, field)));
    let (counters, text) = lengths["COUNTERS"];
    claims.push(format!("{counters} == {}", items(text).count()));
    claims.extend(items(text).map(|(n, name)| format!("WINDLASS_COUNTER_{name} == {n}")));
    claims
}

/// A field of a packet has these bits: `8` of `up_valid_0`, `31:24` of `up_id_1`.
fn is_at(bits: &str, field: &str) -> String {
    let (high, low) = bits.split_once(':').unwrap_or((bits, bits));
    let element = field.rsplit_once('_').and_then(|(array, n)| Some((array, n.parse::<u32>().ok()?)));
    let (place, more) = match element {
        Some(("up_valid", n)) => ("up_valid".to_owned(), n),
        Some((array, n)) => (format!("{array}[{n}]"), 0),
        None => (field.to_owned(), 0),
    };
    let (at, size) =
        (format!("8 * offsetof(struct windlass_packet, {place})"), "8 * sizeof((struct windlass_packet *)0)");
    format!("{at} + {more} == {low} && {size}->{place} > {high} - {low}")
}

/// Compares with the header of the design `top`, which the C compiler `cc` reads in `folder` with such a queue.
pub fn is_the_headers(
    registers: &[Register],
    folder: &Path,
    top: &str,
    queue_bits: u32,
) -> Result<(), String> {
    let header = std::fs::read_to_string(folder.join(format!("{top}_axil.h"))).expect("a header");
    let mut text = format!("#define WINDLASS_QUEUE {}u\n#include \"{top}_axil.h\"\n", 1 << queue_bits);
    for (n, claim) in claims(registers).iter().enumerate() {
        let _ = writeln!(text, "typedef char claim_{n}[{claim} ? 1 : -1];");
    }
    let is_in = |name: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    for name in header.lines().filter_map(|line| line.strip_prefix("#define ")) {
        let name = name.split([' ', '(']).next().unwrap_or_default();
        let kinds = ["REG", "STATUS", "ERROR", "IRQ", "COUNTER"];
        if kinds.iter().any(|kind| name.starts_with(&format!("WINDLASS_{kind}_"))) && !is_in(name) {
            return Err(format!("{name} is not described"));
        }
    }
    // What the header does not say of a register are lists: of a packet's fields, and of counters.
    let comments = header.lines().filter_map(|line| line.strip_prefix("/* ")?.strip_suffix(" */"));
    let mut known = BTreeSet::new();
    for (_, text) in comments.filter_map(|comment| comment.split_once(": ")) {
        known.extend([text, text.split(": ").next().unwrap_or_default()]);
        known.extend(items(text).map(|(_, item)| item));
    }
    for text in registers.iter().flat_map(|register| &register.texts) {
        let said = if items(text).count() > 1 { text.split(": ").next().unwrap_or_default() } else { text };
        if !known.contains(said) {
            return Err(format!("`{said}` is not in the header"));
        }
    }
    std::fs::write(folder.join("claims.c"), text).expect("written");
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let arguments = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "claims.c"];
    let read = Command::new(cc).current_dir(folder).args(arguments).output().expect("a compiler");
    let said = String::from_utf8_lossy(&read.stderr).into_owned();
    if read.status.success() { Ok(()) } else { Err(said) }
}

/// Compares with what the bus answered: of each address what it reads after the reset, how it takes ones, and what it reads then; and of the
/// register of errors what it reads once there are some, after zeros were written and after ones were.
pub fn is_the_hardwares(registers: &[Register], answers: &str) -> Result<(), String> {
    let at: BTreeMap<u32, &Register> =
        registers.iter().map(|register| (register.address, register)).collect();
    let number = |text: &str| u32::from_str_radix(text, 16).expect("a number");
    let rows = answers.lines().map(|line| line.split(' ').map(number).collect::<Vec<_>>());
    let (accesses, errors): (Vec<_>, Vec<_>) = rows.partition(|row| row.len() == 5);
    if accesses.len() != 1024 || errors.len() != 1 {
        return Err(format!("answers of another kind: {answers}"));
    }
    for row in accesses {
        let [address, unreadable, first, unwritable, second] = row[..] else { unreachable!() };
        let wrong = |what: &str, right: u32| {
            Err(format!("{address:#05x}: {what} is described as {right:#x}, and the bus says {row:x?}"))
        };
        let Some(register) = at.get(&address) else {
            // The hardware answers for 16 counters, of which some count nothing.
            let right = if (0x200..0x280).contains(&address) { 0 } else { 2 };
            if (unreadable, unwritable) != (right, 2) {
                return wrong("an address without a register", right);
            }
            continue;
        };
        let can = |what: char| u32::from(!register.fields.iter().any(|field| field.sw.contains(what))) * 2;
        if unreadable != can('r') {
            return wrong("how it is read", can('r'));
        }
        if unwritable != can('w') {
            return wrong("how it is written", can('w'));
        }
        let fields = register.fields.iter();
        let reset = fields.map(|field| field.reset.unwrap_or(0) << field.low).sum();
        if unreadable == 0 && first & !register.mask(|field| field.reset.is_none()) != reset {
            return wrong("what it is after a reset", reset);
        }
        let kept = register.mask(|field| field.sw == "rw" && field.onwrite.is_empty());
        if (unreadable, unwritable) == (0, 0) && second != kept {
            return wrong("what it keeps of ones", kept);
        }
        if register.fields.iter().any(|field| !field.onread.is_empty()) {
            return wrong("what a read does", 0);
        }
    }
    let clears = |register: &&Register| register.fields.iter().all(|field| field.onwrite == "woclr");
    let mask =
        registers.iter().find(clears).map_or(0, |register| register.mask(|field| field.name == "HOST"));
    if errors[0] != [mask, mask, 0] {
        return Err(format!("an error is described as cleared by 1, and the bus says {:x?}", errors[0]));
    }
    Ok(())
}
