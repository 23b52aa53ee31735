//! The host side of ACE-HW: what the application's side of the queue knows, and what it sends.

use crate::hazards;
use crate::ktrace::Kernel;
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use thiserror::Error;

/// What the host side refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HostError {
    /// A scheduled list of a size that 8-bit ids do not carry.
    #[error("the scheduled list has {got} kernels; choose {} to {}", SCHEDULED.start(), SCHEDULED.end())]
    ScheduledSize {
        /// What was asked.
        got: usize,
    },
    /// More kernels than an index counts.
    #[error("{} kernels were sent; start another list", u32::MAX)]
    TooManyKernels,
}

/// Sizes of a scheduled list. Past 255, an 8-bit id could name two kernels of the list.
pub const SCHEDULED: RangeInclusive<usize> = 8..=255;

/// How a kernel is compared with an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HazardRule {
    /// RAW, WAR and WAW.
    #[default]
    Exact,
    /// ACE's Algorithm 1 as printed, which misses RAW: wrong, for comparison only.
    StrictAlgorithm1,
}

/// How a packet names the kernels it waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// A list of ids, as ACE.
    Ids,
    /// A bit for each of the last M kernels.
    #[default]
    Mask,
}

/// The earlier kernels that a packet's kernel waits for, as far as the host knows; some may have retired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upstream {
    /// Ids, of the kernel sent last first.
    Ids(Vec<u8>),
    /// Bit j of the 256 (bit j % 32 of word j / 32) is set where it waits for the kernel sent j + 1 before.
    Mask([u32; 8]),
}

impl Upstream {
    /// How many kernels before its own each upstream kernel was sent, from 1, ascending; `id` is the kernel's own.
    pub fn distances(&self, id: u8) -> Vec<u8> {
        match self {
            Self::Ids(ids) => ids.iter().map(|u| id.wrapping_sub(*u)).collect(),
            Self::Mask(words) => (0..u8::MAX)
                .filter(|j| words[usize::from(j / 32)] >> (j % 32) & 1 == 1)
                .map(|j| j + 1)
                .collect(),
        }
    }
}

/// What the host sends for one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Kernels that were sent through the list before this one.
    pub kernel: u32,
    /// The same modulo 256: what the hardware knows it by.
    pub id: u8,
    /// What it waits for.
    pub upstream: Upstream,
}

/// The last M kernels that were sent. It is stale on purpose: the host does not learn when one retires,
/// and names upstream kernels that the hardware has long finished with.
#[derive(Clone, Debug)]
pub struct ScheduledList {
    size: usize,
    encoding: Encoding,
    rule: HazardRule,
    /// Newest last.
    sent: VecDeque<Kernel>,
    next: u32,
}

impl ScheduledList {
    /// An empty list of the last `size` kernels.
    ///
    /// # Errors
    /// `size` outside [`SCHEDULED`].
    pub fn new(size: usize, encoding: Encoding, rule: HazardRule) -> Result<Self, HostError> {
        if !SCHEDULED.contains(&size) {
            return Err(HostError::ScheduledSize { got: size });
        }
        Ok(Self { size, encoding, rule, sent: VecDeque::with_capacity(size), next: 0 })
    }

    /// Compares a kernel with the list, puts it at the end, and gives the packet to send.
    ///
    /// # Errors
    /// After `u32::MAX` kernels.
    pub fn send(&mut self, kernel: &Kernel) -> Result<Packet, HostError> {
        let index = self.next;
        self.next = index.checked_add(1).ok_or(HostError::TooManyKernels)?;
        let waits = |earlier: &Kernel| match self.rule {
            HazardRule::Exact => hazards::depends(earlier, kernel),
            HazardRule::StrictAlgorithm1 => hazards::strict_algorithm1(earlier, kernel),
        };
        let id = (index % 256) as u8;
        // The list is at most 255 long, so that a position fits in 8 bits.
        let upstream =
            self.sent.iter().rev().zip(0u8..).filter(|(earlier, _)| waits(earlier)).map(|(_, j)| j);
        let upstream = match self.encoding {
            Encoding::Ids => Upstream::Ids(upstream.map(|j| id.wrapping_sub(j).wrapping_sub(1)).collect()),
            Encoding::Mask => {
                let mut words = [0; 8];
                for j in upstream {
                    words[usize::from(j / 32)] |= 1 << (j % 32);
                }
                Upstream::Mask(words)
            }
        };
        if self.sent.len() == self.size {
            self.sent.pop_front();
        }
        self.sent.push_back(Kernel {
            reads: kernel.reads.clone(),
            writes: kernel.writes.clone(),
            // Names are no use here, and this is the host's hot path.
            name: String::new(),
            op: String::new(),
            est: Vec::new(),
            ..*kernel
        });
        Ok(Packet { kernel: index, id, upstream })
    }

    /// Forgets the kernels that were sent, for the host has waited for them; ids go on.
    pub fn synchronise(&mut self) {
        self.sent.clear();
    }

    /// Kernels in the list.
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// True where nothing was sent, or all of it was waited for.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }
}
