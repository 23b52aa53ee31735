//! Random numbers of tests.

/// SplitMix64; the seed of a test is printed, and `WINDLASS_SEED` sets it.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// One of 0 to n - 1.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// `WINDLASS_SEED`, or 1; printed.
pub fn seed() -> u64 {
    let seed = std::env::var("WINDLASS_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    println!("WINDLASS_SEED={seed}");
    seed
}
