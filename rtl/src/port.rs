//! Ports as data: names, directions and widths, and their flat form as 32-bit words.
//!
//! Everything that drives a block cycle by cycle (golden model, rust-hdl simulation, Verilated Verilog) speaks this one
//! form: the inputs of a cycle are one slice of `u32`, the outputs another. A port takes `ceil(width / 32)` words, low word
//! first, in the order of the block's declaration; bits above the width are zero. The clock is not part of it.

use std::collections::BTreeMap;
use thiserror::Error;

/// Direction of a port, seen from inside the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Driven from outside.
    Input,
    /// Driven by the block.
    Output,
}

/// One port of a block. The clock is a port too (its name is `clk_i`), but has no place in the flat form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Name as in the emitted Verilog, e.g. `ret_slot_0_i`.
    pub name: String,
    /// Input or output.
    pub direction: Direction,
    /// Width in bits, at least 1.
    pub width: u32,
    /// The valid/ready channel the port belongs to, or an empty string.
    pub channel: String,
    /// What the port means, one line, or an empty string.
    pub doc: String,
}

/// Name of the clock port of every clocked block.
pub const CLOCK: &str = "clk_i";

/// Name of the reset port: synchronous, active low.
pub const RESET: &str = "rst_ni";

/// Where each port of one direction lies in the flat words of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    slots: Vec<(String, usize, u32)>,
    by_name: BTreeMap<String, usize>,
    words: usize,
}

/// A port's place in a [`Layout`]: resolved once, used every cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Index of the first word.
    pub word: usize,
    /// Width in bits.
    pub width: u32,
}

/// A block's ports lack one that its model, or who drives it, needs: they are another block's, or another size's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("port {name} is missing")]
pub struct MissingPort {
    /// The port's name.
    pub name: String,
}

/// Where the named port lies.
pub(crate) fn find(layout: &Layout, name: &str) -> Result<Slot, MissingPort> {
    layout.slot(name).ok_or_else(|| MissingPort { name: name.to_owned() })
}

/// The same for an array of `count` ports.
pub(crate) fn find_all(layout: &Layout, name: &str, count: usize) -> Result<Vec<Slot>, MissingPort> {
    (0..count).map(|i| find(layout, &indexed(name, i))).collect()
}

impl Layout {
    /// The layout of all `ports` of one direction, the clock excepted, in their order.
    pub fn new(ports: &[Port], direction: Direction) -> Self {
        let mut slots = Vec::new();
        let mut by_name = BTreeMap::new();
        let mut words = 0;
        for port in ports {
            if port.direction == direction && port.name != CLOCK {
                by_name.insert(port.name.clone(), slots.len());
                slots.push((port.name.clone(), words, port.width));
                words += port.width.div_ceil(32) as usize;
            }
        }
        Self { slots, by_name, words }
    }

    /// Number of `u32` words of one cycle.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Number of ports.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True where there is no port of this direction.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Place of the port called `name`.
    pub fn slot(&self, name: &str) -> Option<Slot> {
        self.by_name.get(name).map(|&i| {
            let (_, word, width) = self.slots[i];
            Slot { word, width }
        })
    }

    /// Name and place of every port, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Slot)> {
        self.slots.iter().map(|(name, word, width)| (name.as_str(), Slot { word: *word, width: *width }))
    }
}

impl Slot {
    /// Number of words that the port takes.
    pub fn words(self) -> usize {
        self.width.div_ceil(32) as usize
    }

    /// The port's value; only for ports of at most 128 bits.
    pub fn get(self, words: &[u32]) -> u128 {
        debug_assert!(self.width <= 128);
        words[self.word..self.word + self.words()].iter().rev().fold(0, |acc, w| (acc << 32) | u128::from(*w))
    }

    /// Sets the port; bits above its width are dropped.
    pub fn set(self, words: &mut [u32], value: u128) {
        let n = self.words();
        for (i, word) in words[self.word..self.word + n].iter_mut().enumerate() {
            *word = if i < 4 { (value >> (32 * i)) as u32 } else { 0 };
        }
        self.trim(words);
    }

    /// The port's words.
    pub fn slice(self, words: &[u32]) -> &[u32] {
        &words[self.word..self.word + self.words()]
    }

    /// Copies `from` (low word first) into the port; missing words are zero, bits above the width are dropped.
    pub fn copy_from(self, words: &mut [u32], from: &[u32]) {
        for i in 0..self.words() {
            words[self.word + i] = from.get(i).copied().unwrap_or(0);
        }
        self.trim(words);
    }

    fn trim(self, words: &mut [u32]) {
        let rest = self.width % 32;
        if rest != 0 {
            words[self.word + self.words() - 1] &= (1 << rest) - 1;
        }
    }

    /// The value in hexadecimal, without leading zeros.
    pub fn hex(self, words: &[u32]) -> String {
        let digits: String = self.slice(words).iter().rev().map(|w| format!("{w:08x}")).collect();
        let short = digits.trim_start_matches('0');
        format!("0x{}", if short.is_empty() { "0" } else { short })
    }
}

/// A port that belongs to one of an array of ports: `ret_slot_i` and 2 give `ret_slot_2_i`.
///
/// The index goes before the direction suffix, so that the suffix stays the last word of the name.
pub fn indexed(name: &str, index: usize) -> String {
    for suffix in ["_ni", "_i", "_o"] {
        if let Some(stem) = name.strip_suffix(suffix) {
            return format!("{stem}_{index}{suffix}");
        }
    }
    format!("{name}_{index}")
}

/// The array of ports that a port is an element of, and its number there: `ret_slot_2_i` gives `ret_slot_i` and 2. The inverse of [`indexed`].
pub fn element(name: &str) -> Option<(String, u32)> {
    let (rest, direction) = name.rsplit_once('_')?;
    let (stem, index) = rest.rsplit_once('_')?;
    Some((format!("{stem}_{direction}"), index.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, direction: Direction, width: u32) -> Port {
        Port { name: name.into(), direction, width, channel: String::new(), doc: String::new() }
    }

    #[test]
    fn names_of_elements() {
        assert_eq!(element(&indexed("ret_slot_i", 2)), Some(("ret_slot_i".into(), 2)));
        assert_eq!(element("place_id_31_o"), Some(("place_id_o".into(), 31)));
        assert_eq!(element("ins_valid_i"), None);
        assert_eq!(element("clk"), None);
    }

    #[test]
    fn layout_skips_the_clock_and_keeps_the_order() {
        let ports = [
            port("clk_i", Direction::Input, 1),
            port("a_i", Direction::Input, 33),
            port("b_o", Direction::Output, 1),
            port("c_i", Direction::Input, 8),
        ];
        let layout = Layout::new(&ports, Direction::Input);
        assert_eq!(layout.words(), 3);
        assert_eq!(layout.slot("c_i"), Some(Slot { word: 2, width: 8 }));
        assert_eq!(layout.slot("clk_i"), None);
    }

    #[test]
    fn values_are_cut_to_the_width() {
        let slot = Slot { word: 1, width: 33 };
        let mut words = [0; 3];
        slot.set(&mut words, u128::MAX);
        assert_eq!(words, [0, u32::MAX, 1]);
        assert_eq!(slot.get(&words), (1 << 33) - 1);
        assert_eq!(slot.hex(&words), "0x1ffffffff");
    }

    #[test]
    fn the_index_goes_before_the_suffix() {
        assert_eq!(indexed("ret_slot_i", 2), "ret_slot_2_i");
        assert_eq!(indexed("slot", 2), "slot_2");
    }
}
