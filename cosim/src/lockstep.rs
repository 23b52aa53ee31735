//! Temporary.
/// Random numbers.
#[derive(Clone, Debug)]
pub struct Rng(u64);
impl Rng {
    /// Seeded.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }
    /// Next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    /// Below n.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    /// With this chance.
    pub fn chance(&mut self, num: u64, den: u64) -> bool {
        self.below(den) < num
    }
}
/// Stimulus.
pub trait Stimulus {
    /// Inputs for a cycle.
    fn next(&mut self, cycle: u64, last: &[u32], inputs: &mut [u32]);
}
