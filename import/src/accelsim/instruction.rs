//! What one executed instruction of a warp touches and computes.
//!
//! A line has numbers and names between spaces: source line (where the header says so), program counter, mask of the lanes that take part,
//! destination registers with their number before them, opcode, source registers likewise, bytes per lane (0 where it touches no memory), and
//! then how the addresses are written, and the addresses. What follows is of no interest here.

use super::ranges::Ranges;
use crate::{Counts, count};
use std::collections::HashMap;

/// What a kernel's header says of its lines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Format {
    /// Version of the tracer. Before 3, a line begins with the CTA and the warp.
    pub(super) version: u32,
    /// Whether the number of a source line comes first.
    pub(super) lines: bool,
    /// Where the address windows of shared and of local memory begin, of which generic addresses may be.
    pub(super) windows: [u64; 2],
}

/// Bytes of such a window.
const WINDOW: u64 = 16 << 20;

/// Below this there is no global memory: an address is an offset in shared memory, or none was recorded.
const FIRST_GLOBAL: u64 = 16 << 20;

/// What the instructions of a kernel do together.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) reads: Ranges,
    pub(super) writes: Ranges,
    /// Two per multiply-add.
    pub(super) flops: u64,
    /// Whether tensor cores take part.
    pub(super) tensor: bool,
    /// Instructions on tensor cores whose opcode does not tell how much they compute.
    pub(super) unsized_tensor: Counts,
    /// Instructions whose access to memory is not known here: they read and write.
    pub(super) unknown: Counts,
    /// Instructions on global memory with addresses that it does not have.
    pub(super) nowhere: Counts,
    /// Instructions that touch textures or surfaces, whose addresses are not recorded.
    pub(super) textures: Counts,
    opcodes: HashMap<Vec<u8>, Opcode>,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Reads,
    Writes,
    Updates,
}

/// Which memory an instruction touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// Shared, local or constant memory, or a prefetch: no other kernel sees it.
    Private,
    /// Global memory, this way.
    Global(Access),
    /// By a generic address, which may be one of shared or local memory.
    Generic(Access),
    /// Global memory, by one instruction for many lanes (TMA).
    Bulk(Access),
    /// Without recorded addresses.
    Texture,
    Unknown,
}

/// What an opcode means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Opcode {
    memory: Memory,
    /// Bytes per lane.
    width: u64,
    flops: Flops,
}

/// How much an instruction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flops {
    /// Per lane.
    Lane(u64),
    /// On tensor cores, per warp; nothing where the opcode does not tell.
    Tensor(Option<u64>),
}

impl Opcode {
    fn new(text: &str) -> Self {
        let mut parts = text.split('.');
        let name = parts.next().unwrap_or_default();
        let memory = match name {
            "LDG" => Memory::Global(Access::Reads),
            "STG" => Memory::Global(Access::Writes),
            "ATOMG" | "RED" | "REDG" => Memory::Global(Access::Updates),
            "LD" | "LDGSTS" => Memory::Generic(Access::Reads),
            "ST" => Memory::Generic(Access::Writes),
            "ATOM" => Memory::Generic(Access::Updates),
            "UTMALDG" => Memory::Bulk(Access::Reads),
            "UTMASTG" => Memory::Bulk(Access::Writes),
            "UTMAREDG" | "UBLKRED" => Memory::Bulk(Access::Updates),
            // The destination is named first: `S.G` is from global to shared memory.
            "UBLKCP" if text.contains(".S.G") => Memory::Bulk(Access::Reads),
            "UBLKCP" if text.contains(".G.S") => Memory::Bulk(Access::Writes),
            "UBLKCP" if text.contains(".S.S") => Memory::Private,
            "UBLKCP" => Memory::Bulk(Access::Updates),
            "UTMAPF" | "UBLKPF" | "CCTL" | "CCTLL" | "CCTLT" => Memory::Private,
            "LDS" | "STS" | "LDSM" | "STSM" | "ATOMS" | "REDS" | "LDL" | "STL" | "LDC" | "LDCU" | "ULDC"
            | "SYNCS" | "STAS" | "LDT" | "STT" | "LDTM" | "STTM" => Memory::Private,
            "TEX" | "TLD" | "TLD4" | "TXD" | "TMML" | "SULD" | "SUST" | "SURED" | "SUATOM" => Memory::Texture,
            _ => Memory::Unknown,
        };
        Self { memory, width: width(parts), flops: flops(text) }
    }
}

/// Bytes per lane, which the opcode tells better than what the tracer measures: bits, or a type.
fn width<'a>(modifiers: impl Iterator<Item = &'a str>) -> u64 {
    let bits = |part: &str| -> Option<u64> {
        match part {
            "F16" | "BF16" => return Some(16),
            "F64" => return Some(64),
            _ => {}
        }
        let bits = part.strip_prefix(['U', 'S']).unwrap_or(part);
        bits.parse().ok().filter(|bits| bits % 8 == 0 && (8..=256).contains(bits))
    };
    modifiers.filter_map(bits).next().unwrap_or(32) / 8
}

fn flops(text: &str) -> Flops {
    let name = text.split('.').next().unwrap_or_default();
    match name.strip_suffix("32I").unwrap_or(name).trim_end_matches('_') {
        "FADD" | "FMUL" | "DADD" | "DMUL" | "MUFU" => Flops::Lane(1),
        "FFMA" | "DFMA" | "HADD2" | "HMUL2" | "FADD2" | "FMUL2" => Flops::Lane(2),
        "HFMA2" | "FFMA2" => Flops::Lane(4),
        name if name.ends_with("MMA") => Flops::Tensor(product(name, text)),
        _ => Flops::Lane(0),
    }
}

/// FLOPs per warp of a product on tensor cores.
fn product(name: &str, text: &str) -> Option<u64> {
    let mut modifiers = text.split('.').skip(1);
    // A warpgroup's, as 64x128x16: four warps execute it together.
    if name.ends_with("GMMA") {
        let mut sizes = modifiers.find(|part| part.contains('x'))?.split('x').map(str::parse::<u64>);
        let mut size = || sizes.next()?.ok();
        return size()?.checked_mul(size()?)?.checked_mul(size()?)?.checked_mul(2).map(|flops| flops / 4);
    }
    // Others' M, N, K stand behind each other, as 16816: N is 8, M 8 or 16.
    let sizes = modifiers.find(|part| part.len() > 2 && part.bytes().all(|c| c.is_ascii_digit()))?;
    let (m, k) = match (sizes.strip_prefix("168"), sizes.strip_prefix("88")) {
        (Some(k), _) => (16, k),
        (None, Some(k)) => (8, k),
        (None, None) => return None,
    };
    let flops = k.parse::<u64>().ok()?.checked_mul(2 * m * 8)?;
    // Volta's 8x8x4 are four products at once, in four steps, or in two with results in half precision.
    let half = name == "HMMA" && sizes == "884" && text.starts_with("HMMA.884.F16");
    Some(if half { 2 * flops } else { flops })
}

/// The words of a line.
struct Words<'a>(std::str::SplitAsciiWhitespace<'a>);

/// What should be there, where a line is not as the tracer writes it.
type Expected = &'static str;

impl<'a> Words<'a> {
    fn word(&mut self, expected: Expected) -> Result<&'a str, Expected> {
        self.0.next().ok_or(expected)
    }

    fn hex(&mut self, expected: Expected) -> Result<u64, Expected> {
        let word = self.word(expected)?;
        u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).map_err(|_| expected)
    }

    fn decimal<T: std::str::FromStr>(&mut self, expected: Expected) -> Result<T, Expected> {
        self.word(expected)?.parse().map_err(|_| expected)
    }

    fn skip(&mut self, count: u32, expected: Expected) -> Result<(), Expected> {
        (0..count).try_for_each(|_| self.word(expected).map(drop))
    }
}

const ADDRESS: Expected = "an address";

impl Work {
    /// Adds what a line says.
    pub(super) fn add(&mut self, line: &str, format: Format) -> Result<(), Expected> {
        let mut words = Words(line.split_ascii_whitespace());
        if format.version < 3 {
            words.skip(4, "a CTA and a warp")?;
        }
        words.skip(format.lines.into(), "the number of a source line")?;
        words.hex("a program counter")?;
        let lanes = words.hex("a mask of lanes")?.count_ones();
        let registers = words.decimal("a number of registers")?;
        words.skip(registers, "a register")?;
        let text = words.word("an opcode")?;
        let registers = words.decimal("a number of registers")?;
        words.skip(registers, "a register")?;
        let opcode = match self.opcodes.get(text.as_bytes()) {
            Some(opcode) => *opcode,
            None => *self.opcodes.entry(text.into()).or_insert_with(|| Opcode::new(text)),
        };
        match opcode.flops {
            Flops::Lane(each) => self.flops = self.flops.saturating_add(each * u64::from(lanes)),
            Flops::Tensor(flops) => {
                self.tensor = true;
                match flops {
                    Some(flops) => self.flops = self.flops.saturating_add(flops),
                    None => count(&mut self.unsized_tensor, text),
                }
                // What follows depends on the version, and is no memory of others.
                return Ok(());
            }
        }
        let access = match opcode.memory {
            Memory::Texture => {
                count(&mut self.textures, text);
                return Ok(());
            }
            Memory::Private => return Ok(()),
            Memory::Bulk(access) => return self.bulk(words, access, lanes),
            Memory::Global(access) | Memory::Generic(access) => access,
            Memory::Unknown => Access::Updates,
        };
        if words.decimal::<u64>("a number of bytes")? == 0 {
            return Ok(());
        }
        if opcode.memory == Memory::Unknown {
            count(&mut self.unknown, text);
        }
        let is_global = matches!(opcode.memory, Memory::Global(_));
        let in_window = |address: u64| {
            format.windows.iter().any(|base| address.checked_sub(*base).is_some_and(|offset| offset < WINDOW))
        };
        let mut nowhere = false;
        let mut touch = |address: u64, bytes: u64| match address < FIRST_GLOBAL {
            true => nowhere |= is_global,
            false if !is_global && in_window(address) => {}
            false => self.touch(access, address, bytes),
        };
        let bytes = opcode.width;
        addresses(words, lanes, |first, step, lanes| {
            let lane = |n: u32| first.wrapping_add_signed(step.wrapping_mul(i64::from(n)));
            if step.unsigned_abs() <= bytes {
                // Lanes side by side are one range.
                let last = lane(lanes - 1);
                touch(first.min(last), first.abs_diff(last).saturating_add(bytes));
            } else {
                (0..lanes).for_each(|n| touch(lane(n), bytes));
            }
        })?;
        if nowhere {
            count(&mut self.nowhere, text);
        }
        Ok(())
    }

    /// The addresses of an instruction that one lane issues for all. Later versions name a barrier and how much is moved before them.
    fn bulk(&mut self, mut words: Words<'_>, access: Access, lanes: u32) -> Result<(), Expected> {
        let width: u64 = words.decimal("a number of bytes")?;
        let mut form = words.word("a form of addresses")?;
        if !["3", "4"].contains(&form) {
            if words.decimal::<u32>("whether it is a multicast")? != 0 {
                words.skip(1, "a mask of CTAs")?;
            }
            words.skip(2, "a number of bytes")?;
            form = words.word("a form of addresses")?;
        }
        let base = match form {
            "3" => None,
            "4" => Some(words.hex(ADDRESS)?),
            _ => return Err("a form of addresses, 3 or 4"),
        };
        let transfers: u32 = words.decimal("a number of transfers")?;
        let mut address = base.unwrap_or_default();
        for transfer in 0..transfers {
            match base {
                None => address = words.hex(ADDRESS)?,
                Some(_) if transfer > 0 => address = address.wrapping_add_signed(words.decimal(ADDRESS)?),
                Some(_) => {}
            }
            if lanes > 0 {
                self.touch(access, address, width);
            }
        }
        Ok(())
    }

    fn touch(&mut self, access: Access, address: u64, bytes: u64) {
        if access != Access::Writes {
            self.reads.add(address, bytes);
        }
        if access != Access::Reads {
            self.writes.add(address, bytes);
        }
    }
}

/// The addresses of an instruction, as a first address, how far the next ones are from each other, and how many they are.
fn addresses(mut words: Words<'_>, lanes: u32, mut each: impl FnMut(u64, i64, u32)) -> Result<(), Expected> {
    let form = words.word("a form of addresses")?;
    if lanes == 0 {
        return Ok(());
    }
    match form {
        // All of them.
        "0" => (0..lanes).try_for_each(|_| words.hex(ADDRESS).map(|address| each(address, 0, 1))),
        // The first, and the distance between any two, of lanes without gaps.
        "1" => {
            let (first, step) = (words.hex(ADDRESS)?, words.decimal("a distance of addresses")?);
            each(first, step, lanes);
            Ok(())
        }
        // The first, and each one's distance from the one before.
        "2" => {
            let mut address = words.hex(ADDRESS)?;
            each(address, 0, 1);
            (1..lanes).try_for_each(|_| {
                address = address.wrapping_add_signed(words.decimal("a distance of addresses")?);
                each(address, 0, 1);
                Ok(())
            })
        }
        _ => Err("a form of addresses, 0 to 2"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: Format = Format { version: 5, lines: false, windows: [0x7f59_dd00_0000, 0x7f59_db00_0000] };

    type Segments = Vec<(u64, u64)>;

    fn touched(work: Work) -> (Segments, Segments) {
        let pairs = |ranges: Ranges| -> Segments {
            ranges.segments(usize::MAX).0.iter().map(|s| (s.addr, s.bytes)).collect()
        };
        (pairs(work.reads), pairs(work.writes))
    }

    fn of(lines: &[&str]) -> (Segments, Segments) {
        let mut work = Work::default();
        lines.iter().for_each(|line| work.add(line, FORMAT).unwrap_or_else(|e| panic!("{line}: {e}")));
        touched(work)
    }

    #[test]
    fn addresses_in_each_form() {
        let base = 0x7f58_0fac_e400_u64;
        let load = |text: &str| of(&[&format!("00a0 {text} 0 ")]).0;
        assert_eq!(load("ffffffff 1 R12 LDG.E.128.SYS 1 R2 16 1 0x7f580face400 16"), [(base, 512)]);
        // Backwards, on top of each other, apart.
        assert_eq!(load("0000000f 1 R1 LDG.E 1 R2 4 1 0x7f580face400 -4"), [(base - 12, 16)]);
        assert_eq!(load("ffffffff 1 R1 LDG.E.U8 1 R2 1 1 0x7f580face400 0"), [(base, 1)]);
        assert_eq!(load("00000003 1 R1 LDG.E.64 1 R2 8 1 0x7f580face400 128"), [(base, 8), (base + 128, 8)]);
        assert_eq!(load("80000001 1 R1 LDG.E 1 R2 4 2 0x7f580face400 64"), [(base, 4), (base + 64, 4)]);
        assert_eq!(load("00000100 1 R1 LDG.E 1 R2 4 2 0x7f580face400"), [(base, 4)]);
        assert_eq!(load("00000005 1 R1 LDG.E 1 R2 4 0 0x7f580face400 0x7f580face404"), [(base, 8)]);
        assert_eq!(load("00000000 1 R1 LDG.E 1 R2 4 1 0x0 0"), []);
    }

    #[test]
    fn only_global_memory_counts() {
        let (reads, writes) = of(&[
            "0000 00000001 0 STG.E.64 2 R8 R12 8 2 0x7f0000000000 0",
            "0010 00000001 0 RED.E.ADD.F32.FTZ.RN.STRONG.GPU 2 R8 R12 4 2 0x7f0000000100 0",
            "0020 00000001 1 R1 LD.E 1 R8 4 2 0x7f0000000200 0",
            "0030 00000001 1 R1 LD.E 1 R8 4 2 0x7f59dd000010 0",
            "0040 00000001 0 ST.E 2 R8 R1 4 2 0x7f59dbfffffc 0",
            "0050 00000001 1 R1 LDS 1 R8 4 2 0x7f0000000300 0",
            "0060 00000001 0 LDGSTS.E.BYPASS.128 2 R8 R9 16 2 0x400 0",
            "0070 00000001 0 LDGSTS.E.BYPASS.128 2 R8 R9 16 2 0x7f0000000400 0",
            "0080 00000001 0 STL 2 R8 R9 4 2 0x7f0000000500 0",
            "0090 ffffffff 0 EXIT 0 0 0",
        ]);
        let at = 0x7f00_0000_0000;
        assert_eq!(reads, [(at + 0x100, 4), (at + 0x200, 4), (at + 0x400, 16)]);
        assert_eq!(writes, [(at, 8), (at + 0x100, 4)]);
    }

    #[test]
    fn bulk_copies_in_both_versions() {
        let at = 0x5_0200_0000;
        let (reads, writes) = of(&[
            "0000 ffffffff 0 UTMALDG.2D 2 R8 R9 64 3 2 0x502000000 0x502000100 0",
            "0010 ffffffff 0 UTMALDG.2D 2 R8 R9 64 0x30008 1 0x3 8192 0 4 0x502000200 3 64 128 0 0",
            "0020 ffffffff 0 UBLKCP.S.G 2 R8 R9 32 0x30008 0 32 0 4 0x502000400 1 0 0",
            "0030 ffffffff 0 UBLKCP.G.S 2 R8 R9 32 3 1 0x502000500 0",
            "0040 00000000 0 UTMASTG.2D 2 R8 R9 32 4 0x502000600 0 0",
        ]);
        assert_eq!(
            reads,
            [(at, 64), (at + 0x100, 64), (at + 0x200, 128), (at + 0x2c0, 64), (at + 0x400, 32)]
        );
        assert_eq!(writes, [(at + 0x500, 32)]);
    }

    #[test]
    fn what_is_not_known_reads_and_writes() {
        let mut work = Work::default();
        for line in [
            "0000 00000001 0 NEWOP.E.64 1 R1 8 2 0x502000000 0",
            "0010 00000001 0 TEX.SCR.LL 1 R1 0 0",
            // As some versions of the tracer have recorded loads.
            "0018 ffffffff 1 R1 LDG.E 1 R1 4 1 0x0 0 0",
            "0020 00000001 0 FENCE.VIEW 0 0 0",
        ] {
            work.add(line, FORMAT).expect(line);
        }
        assert_eq!(work.unknown.keys().collect::<Vec<_>>(), ["NEWOP.E.64"]);
        assert_eq!(work.nowhere.keys().collect::<Vec<_>>(), ["LDG.E"]);
        assert_eq!(work.textures.keys().collect::<Vec<_>>(), ["TEX.SCR.LL"]);
        assert_eq!(touched(work), (vec![(0x5_0200_0000, 8)], vec![(0x5_0200_0000, 8)]));
    }

    #[test]
    fn widths_of_opcodes() {
        for (opcode, bytes) in [
            ("LDG.E.128.SYS", 16),
            ("LDG.E.U8.CONSTANT", 1),
            ("LDG.E.S16", 2),
            ("LDG.E.LTC128B.128.CONSTANT", 16),
            ("LDG.E.ENL2.256", 32),
            ("STG.E", 4),
            ("RED.E.ADD.F64.RN.STRONG.GPU", 8),
            ("ATOMG.E.CAS.64.STRONG.GPU", 8),
            ("RED.E.ADD.F16x2.RN", 4),
        ] {
            assert_eq!(Opcode::new(opcode).width, bytes, "{opcode}");
        }
    }

    /// By the instructions' shapes: M N K, two FLOPs per multiply-add.
    #[test]
    fn flops_of_opcodes() {
        for (opcode, flops) in [
            ("FFMA.FTZ", Flops::Lane(2)),
            ("FADD32I", Flops::Lane(1)),
            ("HFMA2.MMA", Flops::Lane(4)),
            ("HADD2_32I", Flops::Lane(2)),
            ("IMAD.MOV.U32", Flops::Lane(0)),
            ("HMMA.16816.F32.BF16", Flops::Tensor(Some(2 * 16 * 8 * 16))),
            ("HMMA.1688.F32.TF32", Flops::Tensor(Some(2 * 16 * 8 * 8))),
            // Four products of 8x8x4 in four steps; in two.
            ("HMMA.884.F32.F32.STEP3", Flops::Tensor(Some(4 * 2 * 8 * 8 * 4 / 4))),
            ("HMMA.884.F16.F16.STEP1", Flops::Tensor(Some(4 * 2 * 8 * 8 * 4 / 2))),
            ("IMMA.16832.S8.S8", Flops::Tensor(Some(2 * 16 * 8 * 32))),
            ("IMMA.8816.S8.S8.SAT", Flops::Tensor(Some(2 * 8 * 8 * 16))),
            ("DMMA.884", Flops::Tensor(Some(2 * 8 * 8 * 4))),
            ("HGMMA.64x128x16.F32.BF16", Flops::Tensor(Some(2 * 64 * 128 * 16 / 4))),
            ("UTCHMMA", Flops::Tensor(None)),
            ("HMMA.99999999999999999999", Flops::Tensor(None)),
        ] {
            assert_eq!(super::flops(opcode), flops, "{opcode}");
        }
    }

    #[test]
    fn a_line_that_is_cut_says_what_is_missing() {
        let line = "00a0 00000003 1 R12 LDG.E.128.SYS 1 R2 16 2 0x7f580face400 16";
        let mut missing = Vec::new();
        let words: Vec<&str> = line.split(' ').collect();
        for n in 0..words.len() {
            let cut = words[..n].join(" ");
            missing.push(Work::default().add(&cut, FORMAT).expect_err(&cut));
        }
        assert_eq!(missing[0], "a program counter");
        assert_eq!(missing[10], "a distance of addresses");
        for wrong in ["zz", "00a0 1 1 R1 LDG.E 1 R2 4 9 0x1", "00a0 1 -1 X", "00a0 1 0 UTMALDG 0 4 9 0 0 0 7"]
        {
            assert!(Work::default().add(wrong, FORMAT).is_err(), "{wrong}");
        }
        // Source lines, and an old version's CTA and warp.
        let lines = Format { lines: true, ..FORMAT };
        Work::default().add(&format!("12 {line}"), lines).expect("a line");
        let old = Format { version: 2, ..FORMAT };
        Work::default().add(&format!("0 0 0 3 {line}"), old).expect("a line");
    }
}
