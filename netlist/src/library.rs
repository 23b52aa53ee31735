//! Delays of a cell library: Liberty's tables over input slew and output load.

use crate::liberty::{Group, LibertyError, clock_gate, evaluate, parse_groups, scaled};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// A rising or a falling edge; indices of pairs in this module.
pub(crate) const EDGES: [usize; 2] = [RISE, FALL];
pub(crate) const RISE: usize = 0;
pub(crate) const FALL: usize = 1;

/// How an output's edge follows from an input's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sense {
    Positive,
    Negative,
    /// Either edge causes either; an edge of the clock, too.
    Both,
}

impl Sense {
    /// Whether input edge `from` causes output edge `to`.
    pub(crate) fn causes(self, from: usize, to: usize) -> bool {
        match self {
            Self::Positive => from == to,
            Self::Negative => from != to,
            Self::Both => true,
        }
    }
}

/// Values over slew (rows) and load (columns), in the library's units. Outside, the outermost cells are continued.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    rows: Vec<f32>,
    columns: Vec<f32>,
    values: Vec<f32>,
}

impl Table {
    fn read(group: &Group, templates: &HashMap<&str, &Group>) -> Option<Self> {
        let template = templates.get(group.name.as_str());
        let text = |name| group.attribute(name).or_else(|| template.and_then(|t| t.attribute(name)));
        let values = numbers(text("values")?);
        let (first, second) =
            (numbers(text("index_1").unwrap_or("")), numbers(text("index_2").unwrap_or("")));
        let one = |v: Vec<f32>| if v.is_empty() { vec![0.0] } else { v };
        let slew_is_first = template
            .and_then(|t| t.attribute("variable_1"))
            .is_none_or(|v| !v.contains("total_output") && !v.starts_with("constrained"));
        let (first, second) = (one(first), one(second));
        if values.len() != first.len() * second.len() {
            return None;
        }
        if slew_is_first {
            return Some(Self { rows: first, columns: second, values });
        }
        let turned = (0..second.len())
            .flat_map(|s| (0..first.len()).map(move |f| (s, f)))
            .map(|(s, f)| values[f * second.len() + s])
            .collect();
        Some(Self { rows: second, columns: first, values: turned })
    }

    /// Bilinear interpolation.
    pub(crate) fn at(&self, row: f32, column: f32) -> f32 {
        let (r, fr) = place(&self.rows, row);
        let (c, fc) = place(&self.columns, column);
        let width = self.columns.len();
        if self.values.is_empty() {
            return 0.0;
        }
        let value = |r: usize, c: usize| self.values.get(r * width + c).copied().unwrap_or(0.0);
        let along = |r: usize| {
            if width == 1 { value(r, 0) } else { value(r, c) + fc * (value(r, c + 1) - value(r, c)) }
        };
        if self.rows.len() == 1 { along(0) } else { along(r) + fr * (along(r + 1) - along(r)) }
    }
}

/// The interval of `axis` for `x`, and where in it `x` is (0 to 1 inside).
fn place(axis: &[f32], x: f32) -> (usize, f32) {
    if axis.len() < 2 {
        return (0, 0.0);
    }
    let at = axis[1..axis.len() - 1].iter().take_while(|edge| x > **edge).count();
    (at, (x - axis[at]) / (axis[at + 1] - axis[at]))
}

fn numbers(text: &str) -> Vec<f32> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// A way through a cell: from an input (of a flip-flop, the clock) to an output.
#[derive(Clone, Debug)]
pub(crate) struct Arc {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) sense: Sense,
    /// Delay to the output's rising and falling edge.
    pub(crate) delay: [Table; 2],
    /// Its slew.
    pub(crate) slew: [Table; 2],
}

/// Energy of one edge, for a rising and a falling one, over input slew and output load.
pub(crate) type Energy = [Table; 2];

/// What a flip-flop does, as Liberty's functions of its pins.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Names of the stored bit and its complement in the outputs' functions.
    pub(crate) names: [String; 2],
    pub(crate) next: String,
    /// When it is cleared or set whatever the clock does.
    pub(crate) asynchronous: Vec<String>,
}

/// What a cell is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Logic,
    FlipFlop,
    /// Lets the clock pass, or not.
    ClockGate,
    /// Tie cells, latches, fillers: left as they are.
    Other,
}

impl Kind {
    /// Whether paths end in it, before the edge of its clock.
    pub(crate) fn is_clocked(self) -> bool {
        matches!(self, Self::FlipFlop | Self::ClockGate)
    }
}

/// A cell.
#[derive(Clone, Debug)]
pub(crate) struct TimedCell {
    pub(crate) name: String,
    pub(crate) area: f32,
    pub(crate) kind: Kind,
    /// Pin names.
    pub(crate) pins: Vec<String>,
    /// Load of an input pin; 0 for an output.
    pub(crate) load: Vec<f32>,
    pub(crate) output: Vec<bool>,
    /// Pins that clock a flip-flop or a clock gate.
    pub(crate) clock: Vec<bool>,
    /// Of a clock gate, the pin that lets the clock pass.
    pub(crate) enable: Option<usize>,
    pub(crate) arcs: Vec<Arc>,
    /// Setup time before the clock, by pin, for a rising and a falling edge there.
    pub(crate) setup: Vec<Option<[Table; 2]>>,
    /// The function of each output.
    pub(crate) functions: Vec<Option<String>>,
    /// What a flip-flop stores.
    pub(crate) state: Option<State>,
    /// Internal energy of an edge at each pin, one entry for each condition that the library knows.
    pub(crate) energy: Vec<Vec<Energy>>,
    /// Leakage power.
    pub(crate) leakage: f32,
    /// For each input pin, the first one that it can change places with: the output does not see it.
    pub(crate) twin: Vec<usize>,
    /// Cells of the same function and pins, smallest first, this one among them.
    pub(crate) family: usize,
}

/// The cells with their delays.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimingLibrary {
    pub(crate) cells: Vec<TimedCell>,
    pub(crate) by_name: HashMap<String, usize>,
    pub(crate) families: Vec<Vec<usize>>,
    /// The family of buffers and that of inverters.
    pub(crate) buffers: Vec<usize>,
    /// Picoseconds per unit of time.
    pub(crate) ps: f64,
    /// Femtofarads per unit of load.
    pub(crate) ff: f64,
    /// Supply voltage.
    pub(crate) volts: f64,
    /// Nanowatts per unit of leakage.
    pub(crate) nw: f64,
}

impl TimingLibrary {
    pub(crate) fn parse(text: &str, path: &Path) -> Result<Self, LibertyError> {
        let top = parse_groups(text, path)?;
        let templates: HashMap<&str, &Group> = top
            .of("lu_table_template")
            .chain(top.of("power_lut_template"))
            .map(|g| (g.name.as_str(), g))
            .collect();
        let unit = |name, default| scaled(top.attribute(name).unwrap_or(default));
        let mut library = Self {
            ps: unit("time_unit", "1ns") * 1e12,
            ff: unit("capacitive_load_unit", "1,pf") * 1e15,
            volts: top.attribute("nom_voltage").and_then(|v| v.parse().ok()).unwrap_or(1.0),
            nw: unit("leakage_power_unit", "1nW") * 1e9,
            ..Self::default()
        };
        let mut families: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for group in top.of("cell") {
            // What a mapper is not to use may be there for clock trees.
            let kept_away = group.attribute("dont_use").is_some_and(|v| v == "true");
            if kept_away && clock_gate(group).is_none() {
                continue;
            }
            let (cell, signature) = cell(group, &templates);
            families.entry(signature).or_default().push(library.cells.len());
            library.by_name.insert(cell.name.clone(), library.cells.len());
            library.cells.push(cell);
        }
        for (signature, mut members) in families {
            members.sort_by(|a, b| library.cells[*a].area.total_cmp(&library.cells[*b].area));
            for cell in &members {
                library.cells[*cell].family = library.families.len();
            }
            if let Some((pins, function)) = signature.split_once(" = ") {
                let mut names = pins.split_whitespace();
                if members.iter().all(|c| library.cells[*c].kind == Kind::Logic)
                    && pins.split_whitespace().count() == 2
                    && names.any(|pin| function == pin)
                {
                    library.buffers.extend(&members);
                }
            }
            library.families.push(members);
        }
        library.buffers.sort_by(|a, b| library.cells[*a].area.total_cmp(&library.cells[*b].area));
        Ok(library)
    }
}

/// A cell, and what must be equal in two cells for one to replace the other: pins and functions.
fn cell(group: &Group, templates: &HashMap<&str, &Group>) -> (TimedCell, String) {
    let pins: Vec<&Group> = group.of("pin").collect();
    let index = |name: &str| pins.iter().position(|p| p.name == name);
    let has = |kinds: [&'static str; 2]| kinds.iter().any(|kind| group.of(kind).next().is_some());
    let flip_flop = has(["ff", "ff_bank"]);
    let number = |text: Option<&str>| text.and_then(|t| t.parse::<f32>().ok());
    let mut cell = TimedCell {
        name: group.name.clone(),
        area: number(group.attribute("area")).unwrap_or(0.0),
        kind: Kind::Logic,
        pins: pins.iter().map(|p| p.name.clone()).collect(),
        load: Vec::new(),
        output: Vec::new(),
        clock: vec![false; pins.len()],
        enable: clock_gate(group).and_then(|gate| index(&gate.enable)),
        arcs: Vec::new(),
        setup: vec![None; pins.len()],
        functions: Vec::new(),
        state: None,
        energy: vec![Vec::new(); pins.len()],
        leakage: number(group.attribute("cell_leakage_power")).unwrap_or(0.0),
        twin: (0..pins.len()).collect(),
        family: 0,
    };
    let mut functions = Vec::new();
    for (to, pin) in pins.iter().enumerate() {
        let output = pin.attribute("direction") == Some("output");
        cell.output.push(output);
        cell.load.push(if output { 0.0 } else { number(pin.attribute("capacitance")).unwrap_or(0.0) });
        cell.functions.push(pin.attribute("function").map(String::from));
        if let Some(function) = pin.attribute("function") {
            functions.push(function.trim_matches(['(', ')']).to_string());
        }
        for power in pin.of("internal_power") {
            let table = |name| power.of(name).next().and_then(|g| Table::read(g, templates));
            let (rise, fall) = (table("rise_power"), table("fall_power"));
            if rise.is_some() || fall.is_some() {
                cell.energy[to].push([rise.unwrap_or_default(), fall.unwrap_or_default()]);
            }
        }
        for timing in pin.of("timing") {
            let kind = timing.attribute("timing_type").unwrap_or("combinational");
            for from in timing.attribute("related_pin").unwrap_or("").split_whitespace().filter_map(index) {
                let table = |name| timing.of(name).next().and_then(|g| Table::read(g, templates));
                if kind.starts_with("setup") {
                    if let (Some(rise), Some(fall)) = (table("rise_constraint"), table("fall_constraint")) {
                        cell.setup[to] = Some([rise, fall]);
                    }
                    cell.clock[from] = true;
                    continue;
                }
                let edge = matches!(kind, "rising_edge" | "falling_edge");
                if !output || !(edge || kind.starts_with("combinational")) {
                    continue;
                }
                let tables = ["cell_rise", "cell_fall", "rise_transition", "fall_transition"].map(table);
                if let [Some(rise), Some(fall), Some(slew_rise), Some(slew_fall)] = tables {
                    let sense = match timing.attribute("timing_sense") {
                        _ if edge => Sense::Both,
                        Some("positive_unate") => Sense::Positive,
                        Some("negative_unate") => Sense::Negative,
                        _ => Sense::Both,
                    };
                    cell.arcs.push(Arc {
                        from,
                        to,
                        sense,
                        delay: [rise, fall],
                        slew: [slew_rise, slew_fall],
                    });
                }
            }
        }
    }
    let state = group.of("ff").flat_map(|ff| {
        ["next_state", "clocked_on", "clear", "preset"].map(|a| ff.attribute(a).unwrap_or("").to_string())
    });
    let mut signature = format!("{} = {}", cell.pins.join(" "), functions.join(" ; "));
    if flip_flop {
        cell.state = group.of("ff").next().map(|ff| {
            let mut names = ff.name.split(',').map(|n| n.trim().trim_matches('"').to_string());
            let text = |name| ff.attribute(name).map(String::from);
            State {
                names: [names.next().unwrap_or_default(), names.next().unwrap_or_default()],
                next: text("next_state").unwrap_or_default(),
                asynchronous: ["clear", "preset"].into_iter().filter_map(text).collect(),
            }
        });
        cell.kind = Kind::FlipFlop;
        signature = format!("ff {signature} ; {}", state.collect::<Vec<_>>().join(" ; "));
    } else if cell.enable.is_some() {
        cell.kind = Kind::ClockGate;
        signature = format!("other {}", cell.name);
    } else if functions.is_empty()
        || has(["latch", "latch_bank"])
        || has(["statetable", "statetable"])
        || cell.arcs.is_empty()
    {
        cell.kind = Kind::Other;
        signature = format!("other {}", cell.name);
    } else {
        cell.twin = twins(&cell);
    }
    (cell, signature)
}

/// Each input's first twin; of a cell with more than one output, or with more than six inputs, itself.
fn twins(cell: &TimedCell) -> Vec<usize> {
    let mut twin: Vec<usize> = (0..cell.pins.len()).collect();
    let inputs: Vec<usize> = (0..cell.pins.len()).filter(|p| !cell.output[*p]).collect();
    let function = cell.functions.iter().flatten().next();
    let (Some(function), true) = (function, inputs.len() <= 6 && inputs.len() + 1 == cell.pins.len()) else {
        return twin;
    };
    let names: Vec<&str> = inputs.iter().map(|p| cell.pins[*p].as_str()).collect();
    let Some(own) = table(function, &names) else { return twin };
    for (b, pin) in inputs.iter().enumerate() {
        let same = |a: &usize| {
            let mut names = names.clone();
            names.swap(*a, b);
            table(function, &names) == Some(own)
        };
        twin[*pin] = (0..b).find(same).map_or(*pin, |a| inputs[a]);
    }
    twin
}

/// The table of `function` over these pins, in their order.
pub(crate) fn table(function: &str, pins: &[&str]) -> Option<u64> {
    let mut table = 0;
    for row in 0..1_usize << pins.len() {
        let value = |pin: &str| pins.iter().position(|p| *p == pin).map(|at| row >> at & 1 == 1);
        table |= u64::from(evaluate(function, &value)?) << row;
    }
    Some(table)
}
