//! The fields of a profile's file, so that all mistakes are found in one go.

use super::{FieldError, FieldProblem};
use serde_json::Value;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

const MAX_U32: u64 = u32::MAX as u64;
const SECOND: u64 = 1_000_000_000;

/// A number: its name with its table, least and greatest value, and both in words.
type Number = (&'static str, u64, u64, &'static str);

/// Every number that must be there.
pub(super) const NUMBERS: [Number; 27] = [
    ("sms", 1, 1024, "1 to 1024"),
    ("clock_mhz", 1, 10_000, "1 to 10000"),
    ("memory_bytes_per_s", 1, 1 << 50, "1 to 2^50"),
    ("cta_floor_ns", 1, 1 << 30, "1 to 2^30"),
    ("sm.ctas", 1, 1024, "1 to 1024"),
    ("sm.warps", 1, 1 << 20, "1 to 2^20"),
    ("sm.threads", 1, 1 << 20, "1 to 2^20"),
    ("sm.threads_per_cta", 1, 1 << 20, "1 to 2^20"),
    ("sm.registers", 1, 1 << 30, "1 to 2^30"),
    ("sm.register_unit", 1, 1 << 20, "1 to 2^20"),
    ("sm.default_registers", 1, 1024, "1 to 1024"),
    ("sm.smem_bytes", 1, 1 << 30, "1 to 2^30"),
    ("sm.smem_unit", 1, 1 << 20, "1 to 2^20"),
    ("sm.smem_reserved", 0, 1 << 30, "0 to 2^30"),
    ("pipes.simt_flop_per_clk", 1, 1 << 20, "1 to 2^20"),
    ("pipes.tensor_flop_per_clk", 1, 1 << 20, "1 to 2^20"),
    ("host.launch_ns", 0, SECOND, "0 to 1000000000"),
    ("host.synchronise_ns", 0, SECOND, "0 to 1000000000"),
    ("host.event_wait_ns", 0, SECOND, "0 to 1000000000"),
    ("host.stream_gap_ns", 0, SECOND, "0 to 1000000000"),
    ("host.graph_node_ns", 0, SECOND, "0 to 1000000000"),
    ("host.graph_launch_ns", 0, SECOND, "0 to 1000000000"),
    ("host.graph_edge_ns", 0, SECOND, "0 to 1000000000"),
    ("host.hazard_check_ns", 0, SECOND, "0 to 1000000000"),
    ("host.packet_ns", 0, SECOND, "0 to 1000000000"),
    ("host.transfer_ns", 0, SECOND, "0 to 1000000000"),
    ("host.notice_ns", 0, SECOND, "0 to 1000000000"),
];

/// Numbers that may be left out.
const OPTIONAL: [Number; 4] = [
    ("memory_bytes", 1, 1 << 50, "1 to 2^50"),
    ("thread_bytes_per_us", 1, 1 << 30, "1 to 2^30"),
    ("streams.chain_launch_ns", 0, MAX_U32, "0 to 4294967295"),
    ("streams.chain_gap_ns", 0, MAX_U32, "0 to 4294967295"),
];

/// Every other number of the table `streams`, which may be left out as a whole.
pub(super) const STREAMS: [Number; 9] = [
    ("streams.launch_ns", 0, MAX_U32, "0 to 4294967295"),
    ("streams.early_launch_ns", 0, MAX_U32, "0 to 4294967295"),
    ("streams.other_launch_ns", 0, MAX_U32, "0 to 4294967295"),
    ("streams.busy_launch_ns", 0, MAX_U32, "0 to 4294967295"),
    ("streams.record_ns", 0, MAX_U32, "0 to 4294967295"),
    ("streams.wait_ns", 0, MAX_U32, "0 to 4294967295"),
    ("streams.gap_ns", 0, MAX_U32, "0 to 4294967295"),
    ("streams.early_gap_ns", 0, MAX_U32, "0 to 4294967295"),
    ("streams.cross_ns", 0, MAX_U32, "0 to 4294967295"),
];

/// What is wrong with the values of a profile that was made in memory.
pub(super) fn check(profile: &Value, file: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (field, min, max, expected) in NUMBERS.into_iter().chain(OPTIONAL).chain(STREAMS) {
        let value = profile.pointer(&format!("/{}", field.replace('.', "/"))).and_then(Value::as_u64);
        if let Some(value) = value.filter(|value| !(min..=max).contains(value)) {
            let problem = FieldProblem::Value { got: value.to_string(), expected };
            errors.push(FieldError { file: file.into(), line: None, field: field.into(), problem });
        }
    }
    errors
}

/// What is wrong with the text of a file.
pub(super) fn read(text: &str, file: &str) -> Vec<FieldError> {
    let (root, syntax) = DeTable::parse_recoverable(text);
    let mut reader = Reader { text, file, errors: Vec::new() };
    for error in syntax {
        let problem = FieldProblem::Syntax(error.message().trim().to_string());
        reader.report(error.span().unwrap_or(0..0), "", problem);
    }
    // What is left of a broken file would give errors that are not there.
    if reader.errors.is_empty() {
        reader.table("", root.get_ref(), 0..0);
        reader.errors.sort_by_key(|error| error.line);
    }
    reader.errors
}

struct Reader<'a> {
    text: &'a str,
    file: &'a str,
    errors: Vec<FieldError>,
}

impl Reader<'_> {
    fn report(&mut self, span: Range<usize>, field: &str, problem: FieldProblem) {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let file = self.file.to_string();
        self.errors.push(FieldError { file, line: Some(line), field: field.into(), problem });
    }

    /// The table `path` (empty: the whole file), which begins at `span`.
    fn table(&mut self, path: &str, table: &DeTable<'_>, span: Range<usize>) {
        let full = |name: &str| if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        let numbers: Vec<Number> = NUMBERS
            .into_iter()
            .chain(OPTIONAL)
            .chain(STREAMS)
            .filter(|(field, ..)| field.rsplit_once('.').map_or("", |(table, _)| table) == path)
            .collect();
        let mut asked: Vec<&str> = numbers.iter().map(|(field, ..)| last(field)).collect();
        if path.is_empty() {
            asked.extend(["name", "sm", "pipes", "host", "streams"]);
        }
        for (key, _) in table {
            if !asked.contains(&key.get_ref().as_ref()) {
                let possible = asked.iter().map(ToString::to_string).collect();
                self.report(key.span(), &full(key.get_ref()), FieldProblem::Unknown { possible });
            }
        }
        for name in asked {
            let number = numbers.iter().find(|(field, ..)| last(field) == name);
            let Some((_, value)) = table.iter().find(|(key, _)| key.get_ref() == name) else {
                let optional = |(field, ..): &Number| *field == full(name);
                if name != "streams" && !OPTIONAL.iter().any(optional) {
                    let expected = number.map_or(if name == "name" { "a name" } else { "a table" }, |n| n.3);
                    self.report(span.clone(), &full(name), FieldProblem::Missing { expected });
                }
                continue;
            };
            let wrong = |expected| FieldProblem::Value { got: shown(value.get_ref()), expected };
            match (number, value.get_ref()) {
                (Some(&(_, min, max, expected)), found @ DeValue::Integer(_)) => {
                    if !whole(found).is_some_and(|number| (min..=max).contains(&number)) {
                        self.report(value.span(), &full(name), wrong(expected));
                    }
                }
                (Some(&(.., expected)), found) => {
                    let problem = FieldProblem::NotWhole { got: shown(found), expected };
                    self.report(value.span(), &full(name), problem);
                }
                (None, DeValue::String(text)) if name == "name" => {
                    if text.trim().is_empty() {
                        self.report(value.span(), "name", wrong("a name that is not blank"));
                    }
                }
                (None, _) if name == "name" => self.report(value.span(), "name", wrong("a name in quotes")),
                (None, DeValue::Table(inner)) => self.table(name, inner, value.span()),
                (None, _) => self.report(value.span(), name, wrong("a table")),
            }
        }
    }
}

fn last(field: &'static str) -> &'static str {
    field.rsplit_once('.').map_or(field, |(_, name)| name)
}

fn whole(value: &DeValue<'_>) -> Option<u64> {
    let DeValue::Integer(number) = value else { return None };
    u64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
}

fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if text.chars().count() <= 40 => format!("{text:?}"),
        DeValue::Integer(number) => number.as_str().to_string(),
        DeValue::Float(number) => number.as_str().to_string(),
        DeValue::Boolean(value) => value.to_string(),
        other => format!("a value of type {}", other.type_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use std::collections::BTreeSet;
    use windlass_runtime::run::Costs;

    /// A field that is added to the profile must be added here.
    #[test]
    fn the_list_has_every_field() {
        let mut profile = Profile::load("h100").unwrap();
        (profile.streams, profile.thread_bytes_per_us) = (Some(Costs::FREE), Some(1));
        let value = serde_json::to_value(profile).unwrap();
        let mut fields = BTreeSet::new();
        for (name, value) in value.as_object().unwrap() {
            match value {
                Value::Object(table) => fields.extend(table.keys().map(|key| format!("{name}.{key}"))),
                Value::Number(_) => drop(fields.insert(name.clone())),
                other => assert_eq!((name.as_str(), other.is_string()), ("name", true)),
            }
        }
        let listed =
            NUMBERS.iter().chain(&OPTIONAL).chain(&STREAMS).map(|(field, ..)| field.to_string()).collect();
        assert_eq!(fields, listed);
    }
}
