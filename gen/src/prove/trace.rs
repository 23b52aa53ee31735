//! What was seen on the way to a violation: the block's ports, cycle by cycle.

use crate::table::aligned;
use serde::Serialize;
use std::fmt::Write as _;

/// Values of some signals over some cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// Name of each signal, and its value in each cycle as binary digits, the highest first.
    pub(super) signals: Vec<(String, Vec<String>)>,
}

impl Trace {
    /// Name of each signal, and its value in each cycle as binary digits, the highest first.
    pub fn signals(&self) -> &[(String, Vec<String>)] {
        &self.signals
    }

    /// Number of cycles.
    pub fn cycles(&self) -> usize {
        self.signals.first().map_or(0, |(_, values)| values.len())
    }

    /// A table: a line per signal, a column per cycle, hexadecimal; signals that are zero all the time are left out.
    pub fn table(&self) -> String {
        let row = |name: &str, values: Vec<String>| [vec![name.to_string()], values].concat();
        let mut rows = vec![row("cycle", (0..self.cycles()).map(|cycle| cycle.to_string()).collect())];
        for (name, values) in &self.signals {
            if values.iter().any(|v| v.contains('1')) {
                rows.push(row(name, values.iter().map(|v| hex(v)).collect()));
            }
        }
        aligned(&rows, 0, |column| column == 0).iter().map(|cells| cells.join(" ") + "\n").collect()
    }

    /// As a value change dump; cycle `c` begins at time `2 c`, and the clock rises at `2 c + 1`.
    pub fn vcd(&self, top: &str) -> String {
        let code = |i: usize| format!("s{i}");
        let mut text = format!("$timescale 1ns $end\n$scope module {top} $end\n$var wire 1 c clk_i $end\n");
        for (i, (name, values)) in self.signals.iter().enumerate() {
            let width = values.first().map_or(1, String::len);
            let _ = writeln!(text, "$var wire {width} {} {name} $end", code(i));
        }
        text.push_str("$upscope $end\n$enddefinitions $end\n");
        for cycle in 0..self.cycles() {
            let _ = writeln!(text, "#{}\n0c", 2 * cycle);
            for (i, (_, values)) in self.signals.iter().enumerate() {
                if cycle == 0 || values[cycle] != values[cycle - 1] {
                    let _ = writeln!(text, "b{} {}", values[cycle], code(i));
                }
            }
            let _ = writeln!(text, "#{}\n1c", 2 * cycle + 1);
        }
        let _ = writeln!(text, "#{}", 2 * self.cycles());
        text
    }
}

/// Binary digits as hexadecimal, without leading zeros.
fn hex(binary: &str) -> String {
    let padded = format!("{}{binary}", "0".repeat((4 - binary.len() % 4) % 4));
    let digits: String = padded
        .as_bytes()
        .chunks(4)
        .map(|four| {
            let value = four.iter().fold(0, |acc, b| acc * 2 + u32::from(*b == b'1'));
            char::from_digit(value, 16).unwrap_or('?')
        })
        .collect();
    let short = digits.trim_start_matches('0');
    if short.is_empty() { "0".into() } else { short.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> Trace {
        let row = |name: &str, values: [&str; 2]| (name.to_string(), values.map(String::from).to_vec());
        Trace {
            signals: vec![row("a_i", ["00001", "10110"]), row("never_o", ["0", "0"]), row("b_o", ["1", "1"])],
        }
    }

    #[test]
    fn a_table_leaves_out_what_is_always_zero() {
        assert_eq!(trace().table(), "cycle 0  1\na_i   1 16\nb_o   1  1\n");
    }

    #[test]
    fn a_dump_has_changes_only() {
        let vcd = trace().vcd("block");
        assert!(vcd.contains("$var wire 5 s0 a_i $end"), "{vcd}");
        assert!(vcd.contains("#2\n0c\nb10110 s0\n#3"), "{vcd}");
    }
}
