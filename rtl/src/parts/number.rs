//! Sized constants and banks of blocks.

use rust_hdl::prelude::*;

/// A constant of exactly `W` bits; bits of `value` above them are dropped.
///
/// rust-hdl's plain literals are 32 bits wide in Verilog; a field of this type is as wide as it says.
pub fn number<const W: usize>(value: u128) -> Constant<Bits<W>> {
    table(|i| i < 128 && value >> i & 1 == 1)
}

/// `count` sized constants, made from their index.
pub fn numbers<const W: usize>(count: usize, value: impl Fn(usize) -> u128) -> Vec<Constant<Bits<W>>> {
    (0..count).map(|i| number(value(i))).collect()
}

/// A constant of `W` bits, bit `i` of which says whether `bit(i)` holds: a table to be indexed by a signal.
pub fn table<const W: usize>(bit: impl Fn(usize) -> bool) -> Constant<Bits<W>> {
    let mut bits = Bits::<W>::default();
    for i in 0..W {
        bits = bits.replace_bit(i, bit(i));
    }
    Constant::new(bits)
}

/// `count` equal blocks, or signals.
pub fn bank<B: Default>(count: usize) -> Vec<B> {
    (0..count).map(|_| B::default()).collect()
}
