//! Random well-formed blocks: they are emitted, always the same, and the text computes what rust-hdl computes.
#![no_main]

#[path = "../../tests/random_block/mod.rs"]
mod random_block;

use libfuzzer_sys::fuzz_target;
use random_block::RandomBlock;

fuzz_target!(|bytes: &[u8]| {
    let seed = bytes.iter().fold(0, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    random_block::check(RandomBlock::new(0, bytes), RandomBlock::new(0, bytes), seed);
});
