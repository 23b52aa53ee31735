//! The flat form of a rust-hdl block's ports, and its simulation with rust-hdl's own simulator.

use crate::model::{CycleError, CycleModel};
use crate::port::{Direction, Port, indexed};
use rust_hdl::core::bitvec::BitVec;
use rust_hdl::core::short_bit_vec::SHORT_BITS;
use rust_hdl::prelude::{Bit, Bits, Block, Clock, In, Out, Signal, Synth};

/// A field of a block that is a port, or an array of ports.
pub trait PortField {
    /// Appends name, direction and width.
    fn describe(&self, name: &str, ports: &mut Vec<Port>);
    /// Takes the field's words from the front of `words`, if it is an input.
    fn load(&mut self, words: &mut &[u32]);
    /// Puts the field's words at the front of `words`, if it is an output.
    fn store(&self, words: &mut &mut [u32]);
}

/// A value that has a flat form.
pub trait FlatValue: Synth {
    /// From low word first.
    fn from_words(words: &[u32]) -> Self;
    /// To low word first.
    fn to_words(self, words: &mut [u32]);
}

impl FlatValue for Bit {
    fn from_words(words: &[u32]) -> Self {
        words[0] & 1 == 1
    }
    fn to_words(self, words: &mut [u32]) {
        words[0] = self.into();
    }
}

impl<const W: usize> FlatValue for Bits<W> {
    fn from_words(words: &[u32]) -> Self {
        if W <= SHORT_BITS {
            let mask = u64::MAX >> (64 - W);
            (u64::from(words[0]) & mask).into()
        } else {
            let mut bits = [false; W];
            for (i, bit) in bits.iter_mut().enumerate() {
                *bit = words[i / 32] >> (i % 32) & 1 == 1;
            }
            Bits::Long(BitVec::from(bits))
        }
    }
    fn to_words(self, words: &mut [u32]) {
        if W <= SHORT_BITS {
            words[0] = self.to_u128() as u32;
        } else {
            words.fill(0);
            for i in 0..W {
                words[i / 32] |= u32::from(self.get_bit(i)) << (i % 32);
            }
        }
    }
}

fn port(name: &str, direction: Direction, width: usize) -> Port {
    Port { name: name.into(), direction, width: width as u32, channel: String::new(), doc: String::new() }
}

impl<T: FlatValue> PortField for Signal<In, T> {
    fn describe(&self, name: &str, ports: &mut Vec<Port>) {
        ports.push(port(name, Direction::Input, T::BITS));
    }
    fn load(&mut self, words: &mut &[u32]) {
        let (mine, rest) = words.split_at(T::BITS.div_ceil(32));
        self.next = T::from_words(mine);
        *words = rest;
    }
    fn store(&self, _words: &mut &mut [u32]) {}
}

impl<T: FlatValue> PortField for Signal<Out, T> {
    fn describe(&self, name: &str, ports: &mut Vec<Port>) {
        ports.push(port(name, Direction::Output, T::BITS));
    }
    fn load(&mut self, _words: &mut &[u32]) {}
    fn store(&self, words: &mut &mut [u32]) {
        let (mine, rest) = std::mem::take(words).split_at_mut(T::BITS.div_ceil(32));
        self.val().to_words(mine);
        *words = rest;
    }
}

impl PortField for Signal<In, Clock> {
    fn describe(&self, name: &str, ports: &mut Vec<Port>) {
        ports.push(port(name, Direction::Input, 1));
    }
    fn load(&mut self, _words: &mut &[u32]) {}
    fn store(&self, _words: &mut &mut [u32]) {}
}

impl<P: PortField> PortField for Vec<P> {
    fn describe(&self, name: &str, ports: &mut Vec<Port>) {
        for (i, p) in self.iter().enumerate() {
            p.describe(&indexed(name, i), ports);
        }
    }
    fn load(&mut self, words: &mut &[u32]) {
        self.iter_mut().for_each(|p| p.load(words));
    }
    fn store(&self, words: &mut &mut [u32]) {
        self.iter().for_each(|p| p.store(words));
    }
}

/// A block whose ports can be set and read as flat words; written by [`flat_ports`](crate::flat_ports).
pub trait FlatPorts: Block + Send {
    /// The ports in the order of the struct's fields.
    fn ports(&self) -> Vec<Port>;
    /// Sets every input but the clock.
    fn load(&mut self, words: &[u32]);
    /// Reads every output.
    fn store(&self, words: &mut [u32]);
    /// Sets the clock, where the block has one.
    fn set_clock(&mut self, value: bool);
}

/// Implements [`FlatPorts`](crate::flat::FlatPorts) for a block: its ports, in the order of the fields.
///
/// A block without a clock starts its list with `-`.
#[macro_export]
macro_rules! flat_ports {
    (impl [$($generics:tt)*] for $block:ty: $($rest:tt)*) => {
        impl<$($generics)*> $crate::flat::FlatPorts for $block {
            $crate::flat_ports!(@body $($rest)*);
        }
    };
    (@body - $($port:ident)*) => {
        $crate::flat_ports!(@methods $($port)*);
        fn set_clock(&mut self, _value: bool) {}
    };
    (@body $($port:ident)*) => {
        $crate::flat_ports!(@methods $($port)*);
        fn set_clock(&mut self, value: bool) {
            self.clk_i.next = value.into();
        }
    };
    (@methods $($port:ident)*) => {
        fn ports(&self) -> Vec<$crate::port::Port> {
            let mut ports = Vec::new();
            $($crate::flat::PortField::describe(&self.$port, stringify!($port), &mut ports);)*
            ports
        }
        fn load(&mut self, mut words: &[u32]) {
            let words = &mut words;
            $($crate::flat::PortField::load(&mut self.$port, words);)*
        }
        fn store(&self, mut words: &mut [u32]) {
            let words = &mut words;
            $($crate::flat::PortField::store(&self.$port, words);)*
        }
    };
}

/// Rounds of rust-hdl's simulator after which a block counts as not settling.
const MAX_ROUNDS: usize = 200;

/// A block in rust-hdl's own simulator.
pub struct RustHdlSim<B> {
    block: B,
    cycle: u64,
}

impl<B: FlatPorts> RustHdlSim<B> {
    /// Connects the block and puts it into the simulator.
    pub fn new(mut block: B) -> Self {
        block.connect_all();
        Self { block, cycle: 0 }
    }

    fn settle(&mut self) -> Result<(), CycleError> {
        if rust_hdl::prelude::simulate(&mut self.block, MAX_ROUNDS) {
            Ok(())
        } else {
            let message = format!("does not settle in {MAX_ROUNDS} rounds: a combinational loop");
            Err(CycleError { cycle: self.cycle, message })
        }
    }
}

impl<B: FlatPorts> CycleModel for RustHdlSim<B> {
    fn ports(&self) -> Vec<Port> {
        self.block.ports()
    }

    fn cycle(&mut self, inputs: &[u32], outputs: &mut [u32]) -> Result<(), CycleError> {
        self.block.load(inputs);
        self.block.set_clock(false);
        self.settle()?;
        self.block.store(outputs);
        self.block.set_clock(true);
        self.settle()?;
        self.cycle += 1;
        Ok(())
    }
}
