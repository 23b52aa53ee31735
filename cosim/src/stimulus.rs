//! What drives the inputs: seeded random numbers, channels that keep the rules of valid and ready, and a stimulus for any
//! block.

use windlass_rtl::port::{Direction, Layout, Port, RESET, Slot};

/// A small seeded generator of random numbers (splitmix64): the same numbers for the same seed, for ever.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator for `seed`; any seed is good.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, or 0 if that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// True `percent` times in a hundred.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }

    /// Random bits into a port.
    pub fn fill(&mut self, slot: Slot, words: &mut [u32]) {
        let random: Vec<u32> = (0..slot.words()).map(|_| self.next_u64() as u32).collect();
        slot.copy_from(words, &random);
    }
}

/// Gives the inputs of each cycle.
pub trait Stimulus {
    /// Sets the inputs of cycle `cycle`. `inputs` still holds those of the cycle before, and `last_outputs` that cycle's
    /// outputs (all zero in cycle 0), so that a stimulus can see which transfers took place.
    fn next(&mut self, cycle: u64, last_outputs: &[u32], inputs: &mut [u32]);

    /// The seed that makes it repeatable, if it has one.
    fn seed(&self) -> Option<u64> {
        None
    }

    /// What the block got wrong so far, where the stimulus [keeps books](Self::keeps_books): something was lost, done twice or never asked
    /// for. All models may agree on it.
    fn fault(&self) -> Option<&str> {
        None
    }

    /// Whether it knows by itself, without a golden model, that some outputs are wrong.
    fn keeps_books(&self) -> bool {
        false
    }

    /// From now on no new work: what was begun is let end, and then it is looked whether all is back that was lent.
    fn finish(&mut self) {}

    /// Whether that is done, by the outputs that [`Self::next`] saw last.
    fn is_finished(&self) -> bool {
        true
    }
}

/// One valid/ready channel into a block: once valid, it stays valid with the same payload until it is taken.
#[derive(Clone, Debug)]
pub struct ChannelStimulus {
    valid: Slot,
    ready: Option<Slot>,
    payload: Vec<Slot>,
}

impl ChannelStimulus {
    /// The channel with these ports; `ready` is an output of the block, and without one every offer is taken at once.
    pub fn new(valid: Slot, ready: Option<Slot>, payload: Vec<Slot>) -> Self {
        Self { valid, ready, payload }
    }

    /// The channels into the block with these ports: for each [`Port::channel`], the input that ends in `valid_i` (with an
    /// index before the suffix where there are several), the output that ends in `ready_o`, and the other inputs.
    pub fn of(ports: &[Port]) -> Vec<Self> {
        let (inputs, outputs) = (Layout::new(ports, Direction::Input), Layout::new(ports, Direction::Output));
        let mut channels = Vec::new();
        for valid in ports.iter().filter(|p| is_valid_input(p)) {
            let of_channel = || ports.iter().filter(|p| p.channel == valid.channel);
            let ready = of_channel()
                .find(|p| p.direction == Direction::Output && has_word(&p.name, "ready"))
                .and_then(|p| outputs.slot(&p.name));
            let payload = of_channel()
                .filter(|p| p.direction == Direction::Input && p.name != valid.name)
                .filter_map(|p| inputs.slot(&p.name))
                .collect();
            channels.extend(inputs.slot(&valid.name).map(|valid| Self { valid, ready, payload }));
        }
        channels
    }

    /// The payload's ports.
    pub fn payload(&self) -> &[Slot] {
        &self.payload
    }

    /// Whether the offer of the last cycle was taken (`inputs` and `last_outputs` are still those of that cycle).
    pub fn taken(&self, last_outputs: &[u32], inputs: &[u32]) -> bool {
        self.valid.get(inputs) == 1 && self.ready.is_none_or(|ready| ready.get(last_outputs) == 1)
    }

    /// Whether an offer waits, and must stay as it is.
    pub fn waiting(&self, last_outputs: &[u32], inputs: &[u32]) -> bool {
        self.valid.get(inputs) == 1 && !self.taken(last_outputs, inputs)
    }

    /// The next cycle: an offer that waits stays; else there is a new one where `offer` puts a payload and returns true.
    /// Returns whether there is a new one.
    pub fn next(
        &self,
        last_outputs: &[u32],
        inputs: &mut [u32],
        offer: impl FnOnce(&[Slot], &mut [u32]) -> bool,
    ) -> bool {
        if self.waiting(last_outputs, inputs) {
            return false;
        }
        let new = offer(&self.payload, inputs);
        self.valid.set(inputs, u128::from(new));
        new
    }

    /// Takes the offer back, as only a reset may.
    pub fn withdraw(&self, inputs: &mut [u32]) {
        self.valid.set(inputs, 0);
    }
}

fn is_valid_input(port: &Port) -> bool {
    port.direction == Direction::Input
        && port.width == 1
        && !port.channel.is_empty()
        && has_word(&port.name, "valid")
}

/// Whether one of the words between underscores is `word`.
fn has_word(name: &str, word: &str) -> bool {
    name.split('_').any(|w| w == word)
}

/// Random inputs for any block: reset at the start and now and then, channels by their rules, all other inputs at random.
///
/// The share of offers and of single-bit inputs that are high changes every few hundred cycles, so that there are stalls,
/// back-to-back traffic, full and empty.
#[derive(Debug)]
pub struct RandomStimulus {
    seed: u64,
    rng: Rng,
    reset: Option<Slot>,
    channels: Vec<ChannelStimulus>,
    others: Vec<Slot>,
    busy: u32,
    reset_every: u64,
}

/// Cycles of reset at the start.
const RESET_CYCLES: u64 = 2;

impl RandomStimulus {
    /// For the block with these ports.
    pub fn new(ports: &[Port], seed: u64) -> Self {
        let inputs = Layout::new(ports, Direction::Input);
        let channels = ChannelStimulus::of(ports);
        let in_channel = |slot: Slot| channels.iter().any(|c| c.valid == slot || c.payload.contains(&slot));
        let others = inputs
            .iter()
            .filter(|(name, slot)| *name != RESET && !in_channel(*slot))
            .map(|(_, slot)| slot)
            .collect();
        let reset = inputs.slot(RESET);
        Self { seed, rng: Rng::new(seed), reset, others, busy: 50, channels, reset_every: 5_000 }
    }

    /// The same with a reset in the middle about every `cycles` cycles; 0 for none.
    pub fn reset_every(mut self, cycles: u64) -> Self {
        self.reset_every = cycles;
        self
    }
}

impl Stimulus for RandomStimulus {
    fn next(&mut self, cycle: u64, last_outputs: &[u32], inputs: &mut [u32]) {
        let Self { rng, busy, .. } = self;
        if rng.below(300) == 0 {
            *busy = [0, 3, 20, 50, 80, 100][rng.below(6) as usize];
        }
        for slot in &self.others {
            if slot.width == 1 {
                slot.set(inputs, u128::from(rng.percent(*busy)));
            } else {
                rng.fill(*slot, inputs);
            }
        }
        let in_reset = cycle < RESET_CYCLES || (self.reset_every > 0 && rng.below(self.reset_every) == 0);
        if let Some(reset) = self.reset {
            let was_in_reset = reset.get(inputs) == 0;
            reset.set(inputs, u128::from(!in_reset));
            if in_reset || was_in_reset {
                self.channels.iter().for_each(|c| c.withdraw(inputs));
            }
            if in_reset {
                return;
            }
        }
        for channel in &self.channels {
            channel.next(last_outputs, inputs, |payload, inputs| {
                let offer = rng.percent(*busy);
                if offer {
                    payload.iter().for_each(|slot| rng.fill(*slot, inputs));
                }
                offer
            });
        }
    }

    fn seed(&self) -> Option<u64> {
        Some(self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, direction: Direction, width: u32, channel: &str) -> Port {
        Port { name: name.into(), direction, width, channel: channel.into(), doc: String::new() }
    }

    #[test]
    fn an_offer_waits_unchanged_until_it_is_taken() {
        let ports = [
            port("rst_ni", Direction::Input, 1, ""),
            port("req_valid_i", Direction::Input, 1, "req"),
            port("req_id_i", Direction::Input, 40, "req"),
            port("req_ready_o", Direction::Output, 1, "req"),
        ];
        let mut stimulus = RandomStimulus::new(&ports, 7).reset_every(0);
        let (mut inputs, mut outputs, mut rng) = (vec![0; 4], vec![0; 1], Rng::new(1));
        let (mut taken, mut waited) = (0, 0);
        for cycle in 0..2_000 {
            let before = inputs.clone();
            stimulus.next(cycle, &outputs, &mut inputs);
            if cycle < RESET_CYCLES {
                assert_eq!(inputs[..2], [0, 0]);
            } else if before[1] == 1 && outputs[0] == 0 {
                assert_eq!(inputs, before);
                waited += 1;
            }
            outputs[0] = u32::from(rng.percent(40));
            taken += inputs[1] & outputs[0];
        }
        assert!(taken > 100 && waited > 100, "{taken} {waited}");
    }

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        assert_eq!(Rng::new(0).next_u64(), 0xE220_A839_7B1D_CDAF);
    }
}
