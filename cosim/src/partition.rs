//! SM partitions: which SMs the CTAs of a kernel may use.

use thiserror::Error;
use windlass_rtl::front_end::PartitionWrite;
use windlass_runtime::ktrace::PARTITIONS;

/// The partition of kernels that name none: all SMs. Its mask is never written.
pub const ALL_SMS: u8 = PARTITIONS - 1;

/// A list of partitions that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PartitionError {
    /// Not a range of SMs.
    #[error("partition `{range}` is not a range of SMs; write, for example, 0-22,23-45 or 0-3+8-11")]
    Syntax {
        /// What was given.
        range: String,
    },
    /// A range that ends before it begins.
    #[error("partition `{range}` has no SM; write the lower number first")]
    Empty {
        /// What was given.
        range: String,
    },
    /// A range that names an SM that is not there.
    #[error("partition `{range}` reaches past the last SM: there are {sms}, 0 to {}", sms.saturating_sub(1))]
    Beyond {
        /// What was given.
        range: String,
        /// SMs of the GPU.
        sms: u32,
    },
    /// More partitions than the hardware has, less the one that is kept for all SMs.
    #[error(
        "there are {got} partitions; at most {ALL_SMS} are possible, because one more is kept for kernels that name none"
    )]
    TooMany {
        /// How many were given.
        got: usize,
    },
}

/// The masks of partitions 0, 1, 2 and so on, as far as they are given. The others have all SMs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partitions(Vec<Vec<bool>>);

impl Partitions {
    /// Reads `0-65,66-131`: a partition per comma, each of SMs and ranges of SMs joined by `+`. They may overlap.
    pub fn parse(text: &str, sms: u32) -> Result<Self, PartitionError> {
        let parts = text.split(',');
        let got = parts.clone().count();
        if got > usize::from(ALL_SMS) {
            return Err(PartitionError::TooMany { got });
        }
        Ok(Self(parts.map(|part| mask(part.trim(), sms)).collect::<Result<_, _>>()?))
    }

    /// How many have masks.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True where none has a mask.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True where CTAs of kernels in `partition` may use `sm`.
    pub fn allows(&self, partition: u8, sm: usize) -> bool {
        self.0.get(usize::from(partition)).is_none_or(|mask| mask.get(sm).copied().unwrap_or(false))
    }

    /// The words that tell the front end.
    pub fn writes(&self) -> Vec<PartitionWrite> {
        let bits = |sms: &[bool]| sms.iter().rev().fold(0, |word, sm| word << 1 | u32::from(*sm));
        let masks = self.0.iter().enumerate();
        masks
            .flat_map(|(p, mask)| {
                let words = mask.chunks(32).enumerate();
                words.map(move |(w, sms)| PartitionWrite {
                    partition: p as u8,
                    word: w as u8,
                    mask: bits(sms),
                })
            })
            .collect()
    }

    /// As it can be parsed again: ranges without gaps, joined by `+`.
    pub fn ranges(&self) -> Vec<String> {
        let range = |mask: &Vec<bool>| {
            let runs = mask.chunk_by(|a, b| a == b).scan(0, |at, run| {
                let first = std::mem::replace(at, *at + run.len());
                Some((run[0], first, *at - 1))
            });
            let text = runs.filter(|run| run.0).map(|(_, first, last)| match first == last {
                true => first.to_string(),
                false => format!("{first}-{last}"),
            });
            text.collect::<Vec<_>>().join("+")
        };
        self.0.iter().map(range).collect()
    }
}

/// One partition's SMs.
fn mask(text: &str, sms: u32) -> Result<Vec<bool>, PartitionError> {
    let range = || text.to_string();
    let mut mask = vec![false; sms as usize];
    for part in text.split('+') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |n: &str| n.trim().parse::<u32>().map_err(|_| PartitionError::Syntax { range: range() });
        let (first, last) = (number(first)?, number(last)?);
        if last < first {
            return Err(PartitionError::Empty { range: range() });
        }
        if last >= sms {
            return Err(PartitionError::Beyond { range: range(), sms });
        }
        mask[first as usize..=last as usize].fill(true);
    }
    Ok(mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_unions_are_read_and_written_again() {
        let partitions = Partitions::parse("0-2+5, 3-33,7", 40).expect("ranges");
        assert_eq!(partitions.ranges(), ["0-2+5", "3-33", "7"]);
        let allowed: Vec<usize> = (0..40).filter(|sm| partitions.allows(0, *sm)).collect();
        assert_eq!(allowed, [0, 1, 2, 5]);
        assert!(partitions.allows(3, 39) && partitions.allows(ALL_SMS, 0), "no mask: all SMs");
        let words: Vec<_> = partitions.writes().iter().map(|w| (w.partition, w.word, w.mask)).collect();
        assert_eq!(words[..4], [(0, 0, 0x27), (0, 1, 0), (1, 0, !7), (1, 1, 3)]);
    }

    #[test]
    fn what_is_no_partition_is_named() {
        for (text, word) in [
            ("0-x", "`0-x` is not a range"),
            ("", "`` is not a range"),
            ("4-3", "`4-3` has no SM"),
            ("0-3,8-40", "`8-40` reaches past the last SM: there are 40, 0 to 39"),
            ("0,1,2,3,4,5,6,7", "8 partitions; at most 7"),
            // Said before anything is made of them.
            (&"x,".repeat(1 << 20), "1048577 partitions; at most 7"),
        ] {
            let error = Partitions::parse(text, 40).expect_err(text).to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
