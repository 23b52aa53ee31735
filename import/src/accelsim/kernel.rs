//! A kernel's file: what it says of the launch, and what its warps executed.

use super::error::{Collected, Problem};
use super::instruction::{Format, Work};
use super::tracez;
use crate::FileError;
use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Bytes of a line: 32 addresses need less than a thousand.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// What the file says.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) name: String,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) smem: u64,
    pub(super) regs: u64,
    pub(super) stream: u64,
    /// Compute capability of the code, such as 70.
    pub(super) capability: u32,
    pub(super) work: Work,
    /// CTAs in the file.
    pub(super) ctas: u64,
}

/// What a file's lines are read into.
pub(super) struct Lines<'a> {
    file: &'a str,
    errors: Collected,
    line: usize,
    format: Format,
    recorded: Recorded,
    /// Which fields of the header were there.
    seen: Vec<&'static str>,
    place: Place,
}

/// Where in a file a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the first CTA.
    Header,
    /// In a CTA, before its warps.
    Cta,
    /// In a warp, with so many instructions to come.
    Warp(u64),
    /// Behind a CTA.
    Between,
    /// In a file of another kind, of which no more is read.
    Foreign,
}

/// What a kernel's header must have.
const FIELDS: [&str; 3] = ["kernel name", "grid dim", "block dim"];

impl<'a> Lines<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Self {
            file,
            errors: Collected::default(),
            line: 0,
            format: Format::default(),
            recorded: Recorded::default(),
            seen: Vec::new(),
            place: Place::Header,
        }
    }

    fn push(&mut self, problem: Problem) {
        self.errors.push(self.file, self.line, problem);
    }

    fn wrong(&mut self, found: &str, expected: &'static str) {
        self.push(Problem::Line { found: found.chars().take(60).collect(), expected });
    }

    /// A line of the file; whether there is a point in reading on.
    pub(super) fn add(&mut self, line: &str) -> bool {
        self.line += 1;
        let line = line.trim();
        match line.strip_prefix('-').filter(|_| self.place == Place::Header) {
            Some(field) => self.field(line, field),
            None if line.is_empty() || line.starts_with("#traces format") => {}
            None => self.body(line),
        }
        !self.errors.is_full() && self.place != Place::Foreign
    }

    fn field(&mut self, line: &str, field: &str) {
        let Some((name, value)) = field.split_once('=').map(|(name, value)| (name.trim(), value.trim()))
        else {
            return self.wrong(line, "a field, its name and value on both sides of `=`");
        };
        let hex = || u64::from_str_radix(value.strip_prefix("0x").unwrap_or(value), 16).ok();
        // Early versions print half of a pointer, with a sign; and numbers of registers that are none.
        let signed = || value.parse::<u64>().ok().or_else(|| Some(value.parse::<i64>().ok()? as u64));
        let recorded = &mut self.recorded;
        let good = match name {
            "kernel name" => {
                recorded.name = value.to_owned();
                !value.is_empty()
            }
            "grid dim" => put(&mut recorded.grid, dimensions(value)),
            "block dim" => put(&mut recorded.block, dimensions(value)),
            "shmem" => put(&mut recorded.smem, value.parse().ok()),
            "nregs" => put(&mut recorded.regs, signed()),
            "binary version" => put(&mut recorded.capability, value.parse().ok()),
            "cuda stream id" => put(&mut recorded.stream, signed()),
            "shmem base_addr" => put(&mut self.format.windows[0], hex()),
            "local mem base_addr" => put(&mut self.format.windows[1], hex()),
            "accelsim tracer version" => put(&mut self.format.version, value.parse().ok()),
            "enable lineinfo" => {
                self.format.lines = value == "1";
                ["0", "1"].contains(&value)
            }
            // Others are for people, or of later versions.
            _ => true,
        };
        if !good {
            self.wrong(line, "a value of the kind that this field has");
        }
        self.seen.extend(FIELDS.iter().filter(|field| **field == name));
    }

    fn body(&mut self, line: &str) {
        let word = line.split([' ', '=']).next().unwrap_or_default();
        match (self.place, word) {
            (Place::Header | Place::Between, "#BEGIN_TB") => self.cta(),
            (Place::Cta, "thread" | "cluster") => {}
            (Place::Cta | Place::Warp(0), "warp") => self.place = Place::Warp(0),
            (Place::Warp(0), "insts") => {
                match line.split_once('=').and_then(|(_, n)| n.trim().parse().ok()) {
                    Some(count) => self.warp(count),
                    None => self.wrong(line, "insts = and a number"),
                }
            }
            (Place::Cta | Place::Warp(0), "#END_TB") => self.end(),
            (Place::Warp(left), _) if left > 0 && !line.starts_with('#') => {
                self.place = Place::Warp(left - 1);
                if let Err(expected) = self.recorded.work.add(line, self.format) {
                    self.wrong(line, expected);
                }
            }
            (Place::Warp(left), _) if left > 0 => self.end(),
            (Place::Header, _) if line.starts_with(|c: char| c.is_ascii_digit()) => {
                self.push(Problem::NotGrouped);
                self.place = Place::Foreign;
            }
            (Place::Header, _) if line.starts_with('#') => {}
            _ => self.wrong(line, "a line that belongs here"),
        }
    }

    /// A CTA begins.
    pub(super) fn cta(&mut self) {
        if self.place == Place::Header {
            for field in FIELDS.iter().filter(|field| !self.seen.contains(*field)) {
                self.errors.push(self.file, self.line, Problem::NoField { field });
            }
        }
        self.recorded.ctas += 1;
        self.place = Place::Cta;
    }

    /// A warp of a CTA has so many instructions, which come next.
    pub(super) fn warp(&mut self, instructions: u64) {
        self.place = Place::Warp(instructions);
    }

    /// A warp or a CTA ends.
    pub(super) fn end(&mut self) {
        if let Place::Warp(missing) = self.place
            && missing > 0
        {
            self.push(Problem::MissingInstructions { missing });
        }
        self.place = Place::Between;
    }

    /// What was read, and what was wrong with it.
    pub(super) fn finish(mut self, end: Result<(), Problem>) -> (Recorded, Collected) {
        if let Err(problem) = end {
            self.push(problem);
        } else if !self.errors.is_full() {
            self.line = 0;
            match self.place {
                Place::Header => self.push(Problem::NoCta),
                Place::Cta | Place::Warp(_) => self.push(Problem::Cut),
                Place::Between | Place::Foreign => {}
            }
        }
        (self.recorded, self.errors)
    }
}

fn put<T>(place: &mut T, value: Option<T>) -> bool {
    value.map(|value| *place = value).is_some()
}

/// `(x,y,z)`, each at least 1, of a product that fits.
fn dimensions(text: &str) -> Option<[u32; 3]> {
    let mut sizes =
        text.strip_prefix('(')?.strip_suffix(')')?.split(',').map(|size| size.trim().parse::<u32>());
    let mut size = || sizes.next()?.ok().filter(|size| *size > 0);
    let all = [size()?, size()?, size()?];
    let fits = all.iter().try_fold(1_u64, |product, size| product.checked_mul(u64::from(*size))).is_some();
    (fits && sizes.next().is_none()).then_some(all)
}

/// Reads a kernel's file, plain or compressed by xz, gzip or zstd, or in the tracer's own container.
pub(super) fn read(path: &Path, file: &str) -> (Recorded, Collected) {
    let mut lines = Lines::new(file);
    let end = match File::open(path) {
        Err(error) => Err(Problem::File(FileError::Io(error))),
        Ok(opened) if path.extension().is_some_and(|extension| extension == "tracez") => {
            tracez::read(opened, &mut lines)
        }
        Ok(opened) => text(opened, &mut lines),
    };
    lines.finish(end)
}

fn text(file: File, lines: &mut Lines<'_>) -> Result<(), Problem> {
    let mut input = BufReader::with_capacity(1 << 16, file);
    let head = input.fill_buf().map_err(FileError::Io)?;
    let (mut input, damaged): (Box<dyn BufRead>, fn(io::Error) -> FileError) = match head {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            (Box::new(BufReader::new(XzDecoder::new_multi_decoder(input))), FileError::Xz)
        }
        [0x1f, 0x8b, ..] => (Box::new(BufReader::new(MultiGzDecoder::new(input))), FileError::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let unpacked = zstd::Decoder::with_buffer(input).map_err(FileError::Zstd)?;
            (Box::new(BufReader::new(unpacked)), FileError::Zstd)
        }
        _ => (Box::new(input), FileError::Io),
    };
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line).map_err(damaged)?;
        if read == 0 {
            return Ok(());
        }
        let Ok(text) = std::str::from_utf8(&line) else {
            lines.line += 1;
            return Err(Problem::NotText);
        };
        if read as u64 == MAX_LINE_BYTES && !text.ends_with('\n') {
            lines.line += 1;
            return Err(Problem::LongLine { limit: MAX_LINE_BYTES });
        }
        if !lines.add(text) {
            return Ok(());
        }
    }
}
