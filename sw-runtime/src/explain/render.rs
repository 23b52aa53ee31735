//! Explanations as text and as a graph.

use super::{Barrier, Buffer, Explanation, Link, LocatedHazard, Times, Upstream};
use crate::words::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

/// Columns that a kernel's name gets.
const NAME: usize = 40;

/// The same in the table of the chain.
const LINK: usize = 32;

impl Explanation {
    /// As long as lists are where nobody has asked for all.
    pub const MOST: usize = 10;

    /// A few lines for people, at most 100 columns wide. No list is longer than `most`, the rest is counted, and
    /// implied waits are only counted; with `None` everything is listed.
    pub fn text(&self, most: Option<usize>) -> String {
        let mut out = String::new();
        // Writing into a string cannot fail.
        let _ = self.write_text(&mut out, most);
        out
    }

    fn write_text(&self, out: &mut String, most: Option<usize>) -> fmt::Result {
        let limit = most.unwrap_or(usize::MAX);
        self.write_kernel(out)?;
        self.write_upstream(out, most)?;
        self.write_chain(out, limit)?;
        self.write_downstream(out, limit)
    }

    /// What it is, when it ran, and how that is in its part.
    fn write_kernel(&self, out: &mut String) -> fmt::Result {
        let unit = self.times.unit();
        let k = &self.kernel;
        let [x, y, z] = k.grid;
        writeln!(out, "kernel {}: {}", k.index, short(&k.name, 80))?;
        writeln!(
            out,
            "  op {}, {}, grid {x} x {y} x {z}",
            short(&k.op, 40),
            format!("{:?}", k.kind).to_uppercase()
        )?;
        let source = match self.times {
            Times::Recorded { .. } => "recorded".to_owned(),
            Times::Measured { .. } => "measured durations, SMs and window without limit".to_owned(),
            Times::Estimated { sms, .. } => {
                format!("ceil(CTAs / {}), SMs and window without limit", counted(sms, "SM"))
            }
        };
        writeln!(out, "  runs {} to {} {unit} ({source})", self.start, self.end)?;
        let place = match self.slack {
            0 => "on".to_owned(),
            slack => format!("slack {slack} {unit} beside"),
        };
        let last = self.part_first + self.part_kernels.saturating_sub(1);
        let (first, length) = (self.part_first, self.critical_path);
        writeln!(out, "  {place} the critical path of kernels {first} to {last}, {length} {unit}")?;
        let (start, renamed) = (self.earliest_start, self.earliest_start_renamed);
        let also = if start == renamed { "the same".to_owned() } else { renamed.to_string() };
        writeln!(out, "  earliest start {start}; {also} if every write went to fresh memory")?;
        let syncs = self.barriers.iter().filter(|b| matches!(b, Barrier::Sync { .. })).count();
        match self.barriers.last() {
            Some(Barrier::Sync { why, before_kernel }) => writeln!(
                out,
                "  behind the barrier before kernel {before_kernel}: sync{}{} ({syncs} so far in run {})",
                if why.is_empty() { "" } else { ", " },
                short(why, 40),
                self.run
            ),
            _ => writeln!(out, "  no barrier since run {} began", self.run),
        }
    }

    fn write_downstream(&self, out: &mut String, limit: usize) -> fmt::Result {
        let down = &self.downstream;
        let direct: Vec<String> = down.direct.iter().take(limit).map(u64::to_string).collect();
        match down.direct.len() {
            0 => writeln!(out, "nothing waits for it"),
            n => {
                let implied = down.kernels - n as u64;
                let text = format!(
                    "{n} {} for it{}: {}{}",
                    if n == 1 { "kernel waits" } else { "kernels wait" },
                    if implied > 0 { format!(", and by implication {implied} more") } else { String::new() },
                    direct.join(", "),
                    if n > direct.len() { ", ..." } else { "" }
                );
                wrapped(out, &text)
            }
        }
    }

    fn write_upstream(&self, out: &mut String, most: Option<usize>) -> fmt::Result {
        let limit = most.unwrap_or(usize::MAX);
        let implied = self.upstream.iter().filter(|u| u.implied).count();
        let direct = self.upstream.len() - implied;
        if self.upstream.is_empty() {
            return writeln!(out, "waits for nothing");
        }
        writeln!(
            out,
            "waits for {}{}",
            counted(direct, "kernel"),
            if implied > 0 { format!(", and by implication for {implied} more") } else { String::new() }
        )?;
        let shown = self.upstream.iter().filter(|u| most.is_none() || !u.implied);
        for u in shown.take(limit) {
            write!(out, "  {:>6}  {:<NAME$}  ends {}", u.index, short(&u.name, NAME), u.end)?;
            writeln!(out, "{}", if u.ends_last { ", last" } else { "" })?;
            for remark in remarks(u, self.start) {
                writeln!(out, "          {remark}")?;
            }
            for hazard in u.hazards.iter().take(limit) {
                writeln!(out, "          {}", self.located(hazard))?;
                if let Some(before) = &hazard.earlier_buffer {
                    writeln!(out, "               memory reused, before {}", self.buffer(before))?;
                }
            }
            more(out, "          ", u.hazards.len(), limit)?;
        }
        more(out, "  ", if most.is_none() { 0 } else { direct }, limit)
    }

    fn located(&self, hazard: &LocatedHazard) -> String {
        let LocatedHazard { class, address, bytes, buffer, .. } = hazard;
        format!("{class}  {} at {address:#X}, {}", counted(*bytes, "byte"), self.buffer(buffer))
    }

    fn buffer(&self, buffer: &Buffer) -> String {
        let Buffer::Allocation { allocation: a, offset } = buffer else { return "persistent".to_owned() };
        let run = if a.run == self.run { String::new() } else { format!(" of run {}", a.run) };
        format!("alloc {} + {offset} of {}, before kernel {}{run}", a.number, a.bytes, a.before_kernel)
    }

    fn write_chain(&self, out: &mut String, limit: usize) -> fmt::Result {
        let [_, _, ..] = &self.chain[..] else { return Ok(()) };
        let n = self.chain.len();
        let end = match self.joins_critical_path {
            _ if self.chain_is_critical => "all of it on the critical path".to_owned(),
            Some(k) => format!("meets the critical path at kernel {k}"),
            None => "apart from the critical path".to_owned(),
        };
        writeln!(out, "chain of {n} kernels, each waits for the one below it; {end} (*)")?;
        writeln!(out, "    kernel  {:<LINK$}  {:>8}  {:>8}  by", "name", "start", "end")?;
        for link in self.chain.iter().take(limit) {
            let mark = if link.critical { '*' } else { ' ' };
            let by: Vec<_> =
                by_class(&link.hazards).iter().map(|(class, n)| format!("{class} {n} B")).collect();
            let row = format!(
                "  {mark} {:>6}  {:<LINK$}  {:>8}  {:>8}  {}",
                link.index,
                short(&link.name, LINK),
                link.start,
                link.end,
                short(&by.join(" "), 34)
            );
            writeln!(out, "{}", row.trim_end())?;
        }
        match (n.saturating_sub(limit), self.chain.last()) {
            (hidden @ 1.., Some(last)) => {
                writeln!(out, "    ... {hidden} more, back to kernel {}", last.index)
            }
            _ => Ok(()),
        }
    }
}

/// What there is to say of a wait, besides its hazards.
fn remarks(u: &Upstream, start: u64) -> Vec<String> {
    let mut remarks = Vec::new();
    if u.violated {
        remarks.push(format!("BROKEN: the kernel started at {start}, before this one had ended"));
    }
    if u.implied {
        remarks.push("implied by other waits".to_owned());
    }
    if u.renamed {
        remarks
            .push("no data flows, and none was waited for: the new value had memory of its own".to_owned());
    } else if u.renaming_removes {
        remarks.push("no data flows: renaming would remove this wait".to_owned());
    }
    remarks
}

/// Bytes of each class; a byte that two segments of a kernel name counts twice.
fn by_class(hazards: &[LocatedHazard]) -> BTreeMap<&'static str, u64> {
    use crate::hazards::Class;
    let mut sums = BTreeMap::new();
    for hazard in hazards {
        let class = match hazard.class {
            Class::Raw => "RAW",
            Class::War => "WAR",
            Class::Waw => "WAW",
        };
        let sum: &mut u64 = sums.entry(class).or_default();
        *sum = sum.saturating_add(hazard.bytes);
    }
    sums
}

fn more(out: &mut String, indent: &str, count: usize, limit: usize) -> fmt::Result {
    match count.saturating_sub(limit) {
        0 => Ok(()),
        hidden => writeln!(out, "{indent}... {hidden} more"),
    }
}

/// At most `columns` characters, with dots where some are cut, and none that would break a line.
fn short(text: &str, columns: usize) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().count() <= columns {
        return text.chars().map(clean).collect();
    }
    text.chars().take(columns - 3).map(clean).chain("...".chars()).collect()
}

/// Words in lines of at most 100 columns.
fn wrapped(out: &mut String, text: &str) -> fmt::Result {
    let mut column = 0;
    for word in text.split(' ') {
        if column > 0 && column + 1 + word.len() > 100 {
            out.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.len();
    }
    writeln!(out)
}

/// A Graphviz digraph of the chains and of the waits that no other implies; `dot -Tsvg` draws it.
///
/// Edges point from a kernel to the one that waits, and say class and bytes. Those of a chain are thick, kernels without slack have a
/// double border, those asked about are boxes. The same explanations give the same bytes.
pub fn dot(explanations: &[Explanation]) -> String {
    let mut out = String::new();
    let _ = write_dot(&mut out, explanations); // writing into a string cannot fail
    out
}

fn write_dot(out: &mut String, explanations: &[Explanation]) -> fmt::Result {
    /// A kernel, by run and index.
    type Node = (u64, u64);
    let mut nodes: BTreeMap<Node, (String, bool)> = BTreeMap::new();
    let mut edges: BTreeMap<(Node, Node), (String, bool)> = BTreeMap::new();
    let mut asked: BTreeSet<Node> = BTreeSet::new();
    for e in explanations {
        let unit = e.times.unit();
        let mut node = |index, name: &str, start, end, critical| {
            let label = format!("{index}: {}\\n{start} to {end} {unit}", escaped(&short(name, NAME)));
            nodes.insert((e.run, index), (label, critical));
        };
        asked.insert((e.run, e.kernel.index));
        for Link { index, name, start, end, critical, .. } in &e.chain {
            node(*index, name, *start, *end, *critical);
        }
        let direct = || e.upstream.iter().filter(|u| !u.implied);
        for Upstream { index, name, start, end, critical, .. } in direct() {
            node(*index, name, *start, *end, *critical);
        }
        for pair in e.chain.windows(2) {
            let ends = ((e.run, pair[1].index), (e.run, pair[0].index));
            edges.insert(ends, (edge_label(&pair[0].hazards), true));
        }
        for u in direct() {
            let ends = ((e.run, u.index), (e.run, e.kernel.index));
            edges.entry(ends).or_insert_with(|| (edge_label(&u.hazards), false));
        }
    }
    writeln!(out, "digraph explain {{")?;
    writeln!(out, "  label=\"thick edge: the chain; double border: no slack; box: asked about\";")?;
    writeln!(out, "  node [shape=ellipse];")?;
    let id = |(run, index): Node| format!("r{run}k{index}");
    for (node, (label, critical)) in &nodes {
        let shape = if asked.contains(node) { ", shape=box" } else { "" };
        let border = if *critical { ", peripheries=2" } else { "" };
        writeln!(out, "  {} [label=\"{label}\"{shape}{border}];", id(*node))?;
    }
    for ((from, to), (label, chain)) in &edges {
        let thick = if *chain { ", penwidth=3" } else { "" };
        writeln!(out, "  {} -> {} [label=\"{label}\"{thick}];", id(*from), id(*to))?;
    }
    writeln!(out, "}}")
}

fn edge_label(hazards: &[LocatedHazard]) -> String {
    let lines: Vec<String> =
        by_class(hazards).iter().map(|(class, bytes)| format!("{class} {bytes} B")).collect();
    lines.join("\\n")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
