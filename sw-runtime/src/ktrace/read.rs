//! Reads a trace line by line. Memory grows with the live allocations, not with the file.

use super::{
    ADDRESS_LIMIT, Event, Gpu, Header, Kernel, KernelType, KtraceError, KtraceErrors, KtraceWarning,
    PARTITIONS, Problem, Segment, VERSION, foreign,
};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, ErrorKind, Read};
use std::path::Path;

/// The longest line that is read or written, in bytes without its newline: 16 MiB.
pub const MAX_LINE_BYTES: u64 = 16 << 20;

/// What [`read_line`] has read.
pub(crate) enum Next {
    Line,
    /// The beginning of a line longer than [`MAX_LINE_BYTES`]; the input stands inside it.
    TooLong,
    End,
}

/// Puts the next line, with its newline, in place of what `text` held; of one that is too long, its beginning.
pub(crate) fn read_line(input: &mut dyn BufRead, text: &mut Vec<u8>) -> io::Result<Next> {
    text.clear();
    // One byte more for the newline: where that is another byte, the line is too long.
    let read = input.take(MAX_LINE_BYTES + 1).read_until(b'\n', text)?;
    Ok(match text.last() {
        None => Next::End,
        Some(last) if *last != b'\n' && read as u64 > MAX_LINE_BYTES => Next::TooLong,
        Some(_) => Next::Line,
    })
}

/// As many errors as [`Trace::load`] reports at once.
pub(super) const MAX_ERRORS: usize = 20;

const U32_MAX: u64 = u32::MAX as u64;

const PART_MAX: u64 = PARTITIONS as u64 - 1;

/// The most registers that a thread of any GPU so far has.
pub(super) const REGS_MAX: u64 = 255;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

type Object = Map<String, Value>;

/// The field, where one is to blame, and what is wrong; the reader adds file and line.
pub(super) type Fault = (Option<String>, Problem);

/// The bytes looked at for the magic number go back in front of the rest.
type Rewound<R> = Chain<Cursor<Vec<u8>>, R>;

enum Input<R: BufRead> {
    Plain(Rewound<R>),
    Zstd(BufReader<zstd::Decoder<'static, Rewound<R>>>),
}

impl<R: BufRead> Input<R> {
    fn new(mut raw: R) -> io::Result<Self> {
        let mut head = Vec::new();
        raw.by_ref().take(ZSTD_MAGIC.len() as u64).read_to_end(&mut head)?;
        let zstd = head.len() > 1 && ZSTD_MAGIC.starts_with(&head); // also a file cut inside its magic number
        let rewound = Cursor::new(head).chain(raw);
        Ok(if zstd {
            Self::Zstd(BufReader::new(zstd::Decoder::with_buffer(rewound)?))
        } else {
            Self::Plain(rewound)
        })
    }

    fn reader(&mut self) -> &mut dyn BufRead {
        match self {
            Self::Plain(r) => r,
            Self::Zstd(r) => r,
        }
    }

    fn problem(&self, error: io::Error) -> Problem {
        match (self, error.kind()) {
            (Self::Zstd(_), ErrorKind::UnexpectedEof) => Problem::TruncatedZstd,
            (Self::Zstd(_), ErrorKind::Other) => Problem::CorruptZstd(error.to_string()),
            _ => Problem::Io(error),
        }
    }
}

/// A streaming reader: an iterator over `(line, event)`, lines counted from 1.
///
/// A faulty line is an `Err`, and reading goes on behind it; it ends after an error of the file itself
/// (I/O, a truncated or damaged zstd stream). `run` lines are events too; see [`Reader::run_input`].
pub struct Reader<R: BufRead> {
    input: Input<R>,
    file: String,
    header: Header,
    warnings: Vec<KtraceWarning>,
    line: Line,
    /// The next kernel's index; not known behind a faulty line, which may have been a kernel.
    next_index: Option<u64>,
    kernels: u64,
    run_input: Option<Value>,
    live: Live,
    done: bool,
}

/// The line being worked on.
#[derive(Default)]
struct Line {
    number: u64,
    text: Vec<u8>,
    /// It was read already, to see whether anything follows a blank line.
    waiting: bool,
}

impl Reader<BufReader<File>> {
    /// Opens a plain or zstd-compressed trace, told apart by content, and reads its header.
    ///
    /// # Errors
    /// Where the file cannot be read, or its first line is no valid `trace` line.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, KtraceError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Self::new(BufReader::new(file), name),
            Err(e) => Err(KtraceError { file: name, line: 0, field: None, problem: Problem::Io(e) }),
        }
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads a trace from anywhere; `name` stands for the file in errors.
    ///
    /// # Errors
    /// Where the input cannot be read, or its first line is no valid `trace` line.
    pub fn new(input: R, name: impl Into<String>) -> Result<Self, KtraceError> {
        let file = name.into();
        let input = match Input::new(input) {
            Ok(input) => input,
            Err(e) => return Err(KtraceError { file, line: 0, field: None, problem: Problem::Io(e) }),
        };
        let mut reader = Self {
            input,
            file,
            header: Header::default(),
            warnings: Vec::new(),
            line: Line::default(),
            next_index: Some(0),
            kernels: 0,
            run_input: None,
            live: Live::default(),
            done: false,
        };
        match reader.read_header() {
            Ok(header) => reader.header = header,
            Err(fault) => {
                // What cannot be read or decoded says so itself.
                let looks = foreign::looks_like(&reader.line.text).filter(|_| !reader.done);
                let Some(looks) = looks else { return Err(reader.located(fault)) };
                reader.line.number = 0;
                return Err(reader.located((None, Problem::NoKtrace { looks })));
            }
        }
        Ok(reader)
    }

    /// The first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What is odd but no error; complete once the iterator has ended.
    pub fn warnings(&self) -> &[KtraceWarning] {
        &self.warnings
    }

    /// The `input` of the `run` line that was read last.
    pub fn run_input(&self) -> Option<&Value> {
        self.run_input.as_ref()
    }

    fn located(&self, (field, problem): Fault) -> KtraceError {
        KtraceError { file: self.file.clone(), line: self.line.number, field, problem }
    }

    /// Fetches the next line that is not blank; false at the end of the file.
    fn next_line(&mut self) -> Result<bool, Problem> {
        if std::mem::take(&mut self.line.waiting) {
            self.line.number += 1;
            return Ok(true);
        }
        let mut blank = false;
        loop {
            let number = self.line.number;
            let read = read_line(self.input.reader(), &mut self.line.text);
            if number == 0 && self.line.text.starts_with(BYTE_ORDER_MARK) {
                self.line.text.drain(..BYTE_ORDER_MARK.len());
            }
            self.line.number += 1;
            match read {
                Ok(Next::End) => return Ok(false),
                Ok(Next::TooLong) => {
                    // Behind the limit, only the end of the line is of interest.
                    if let Err(e) = self.input.reader().skip_until(b'\n') {
                        return Err(self.fatal(e));
                    }
                    return Err(Problem::LineTooLong);
                }
                Ok(Next::Line) => {}
                Err(e) => return Err(self.fatal(e)),
            }
            if !self.line.text.trim_ascii().is_empty() {
                if blank {
                    self.line.waiting = true;
                    self.line.number = number;
                    return Err(Problem::BlankLine);
                }
                return Ok(true);
            }
            blank = true;
        }
    }

    fn fatal(&mut self, error: io::Error) -> Problem {
        self.done = true;
        self.input.problem(error)
    }

    fn parse_line(&self) -> Result<Object, Problem> {
        // Without its newline, or an object that ends early would end in column 0 of the next.
        let text = std::str::from_utf8(self.line.text.trim_ascii_end())
            .map_err(|e| Problem::NotUtf8 { column: e.valid_up_to() + 1 })?;
        match serde_json::from_str(text) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(other) => Err(Problem::NotAnObject { found: type_name(&other) }),
            Err(e) => {
                // The parser sees one line at a time: its own line number would mislead.
                let said = e.to_string();
                let what = said.split(" at line ").next().unwrap_or_default();
                Err(Problem::NotJson { detail: format!("{what} at column {}", e.column()) })
            }
        }
    }

    fn read_header(&mut self) -> Result<Header, Fault> {
        let nothing = |found: &str| (None, Problem::NoTraceLine { found: found.to_owned() });
        if !self.next_line().map_err(|p| (None, p))? {
            return Err(nothing("the end of the file"));
        }
        let object = self.parse_line().map_err(|p| (None, p))?;
        let fields = Fields::new(&object);
        match fields.string("e")?.as_str() {
            "trace" => {}
            "k" => return Err((None, Problem::KernelBeforeTrace)),
            other => return Err(nothing(&format!("a `{}` line", short(other)))),
        }
        match fields.integer("ktrace")? {
            VERSION => {}
            found => return fields.fault("ktrace", Problem::UnknownVersion { found }),
        }
        let gpu = Fields { object: fields.required("gpu", "an object", Value::as_object)?, prefix: "gpu." };
        let sms = gpu.small("sms", 1, U32_MAX)?;
        let span = match fields.present("span") {
            None => None,
            Some(value) => Some(fields.numbers("span", "[first address, one past the last]", value)?),
        };
        Ok(Header {
            name: fields.string("name")?,
            source: fields.string("source")?,
            producer: fields.string("producer")?,
            gpu: Gpu { name: gpu.string("name")?, sms },
            params: fields.required("params", "an object", |v| v.is_object().then(|| v.clone()))?,
            kernels: fields.integer("kernels")?,
            span,
            notes: fields.string("notes")?,
        })
    }

    /// The event of the present line, or nothing where its kind is not known.
    fn event(&mut self) -> Result<Option<Event>, Fault> {
        let expected = self.next_index.take();
        let object = self.parse_line().map_err(|p| (None, p))?;
        let fields = Fields::new(&object);
        let kind = fields.string("e")?;
        if kind == "k" {
            return self.kernel(&fields, expected).map(|kernel| Some(Event::Kernel(kernel)));
        }
        self.next_index = expected;
        Ok(Some(match kind.as_str() {
            "trace" => return Err((None, Problem::SecondTrace)),
            "run" => {
                self.next_index = Some(0);
                self.live.run();
                self.run_input = fields.present("input").cloned();
                Event::Run { run: fields.integer("run")? }
            }
            "alloc" => {
                let segment = fields.allocation(None).inspect_err(|_| self.live.lose())?;
                self.live.alloc(segment, self.line.number)?;
                Event::Alloc(segment)
            }
            "free" => {
                let address = fields.integer("a").inspect_err(|_| self.live.lose())?;
                // Recorders often leave out the size of what they free: the allocation says it.
                let freed = fields.present("n").and_then(Value::as_u64);
                let bytes = self.live.free(address, freed)?;
                Event::Free(fields.allocation(bytes)?)
            }
            "sync" => Event::Sync { why: fields.string("why")? },
            _ => return Ok(None),
        }))
    }

    fn kernel(&mut self, fields: &Fields<'_>, expected: Option<u64>) -> Result<Kernel, Fault> {
        self.kernels += 1;
        let index = fields.integer("i")?;
        // Set first, and to what the line says: one faulty line is one error, not one for each that follows.
        self.next_index = Some(index.saturating_add(1));
        let kernel = Kernel {
            index,
            name: fields.string("name")?,
            op: fields.string("op")?,
            kind: fields.kernel_type("type")?,
            grid: fields.dims("grid")?,
            block: fields.dims("block")?,
            smem: fields.integer("smem")?,
            regs: fields.small("regs", 0, REGS_MAX)?,
            flops: fields.integer("flops")?,
            mnk: match fields.present("mnk") {
                None => None,
                Some(value) => Some(fields.numbers("mnk", "[M, N, K, batch] as integers", value)?),
            },
            reads: fields.segments("r")?,
            writes: fields.segments("w")?,
            traffic: fields.optional("bytes")?,
            dur_ns: fields.optional("dur_ns")?,
            stream: fields.small("stream", 0, U32_MAX)?.unwrap_or(0),
            part: fields.small("part", 0, PART_MAX)?,
            est: fields.strings("est")?,
        };
        check_kernel(&kernel, expected.unwrap_or(index))?;
        Ok(kernel)
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<(u64, Event), KtraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            match self.next_line() {
                Ok(true) => {}
                Ok(false) => {
                    self.done = true;
                    let (stated, found) = (self.header.kernels, self.kernels);
                    if stated != found {
                        self.warnings.push(KtraceWarning::KernelCount {
                            file: self.file.clone(),
                            stated,
                            found,
                        });
                    }
                }
                Err(problem) => {
                    self.next_index = None;
                    self.live.lose();
                    return Some(Err(self.located((None, problem))));
                }
            }
            if self.done {
                break;
            }
            match self.event() {
                Ok(Some(event)) => return Some(Ok((self.line.number, event))),
                Ok(None) => {}
                Err(fault) => {
                    if self.next_index.is_none() {
                        self.live.lose();
                    }
                    return Some(Err(self.located(fault)));
                }
            }
        }
        None
    }
}

/// What neither reader nor writer lets pass, beyond types.
pub(super) fn check_kernel(kernel: &Kernel, expected: u64) -> Result<(), Fault> {
    if kernel.index != expected {
        return Err((Some("i".to_owned()), Problem::IndexNotNext { expected, found: kernel.index }));
    }
    for (name, dims) in [("grid", kernel.grid), ("block", kernel.block)] {
        if let Some(zero) = dims.iter().position(|d| *d == 0) {
            return Err((Some(name.to_owned()), Problem::ZeroDimension { axis: axis(zero) }));
        }
        if dims.iter().try_fold(1u64, |product, d| product.checked_mul(u64::from(*d))).is_none() {
            let what = if name == "grid" { "CTAs" } else { "threads" };
            return Err((Some(name.to_owned()), Problem::TooMany { dims, what }));
        }
    }
    if let Some(regs) = kernel.regs
        && u64::from(regs) > REGS_MAX
    {
        let problem = Problem::OutOfRange { value: regs.into(), min: 0, max: REGS_MAX };
        return Err((Some("regs".to_owned()), problem));
    }
    if let Some(part) = kernel.part
        && part >= PARTITIONS
    {
        return Err((
            Some("part".to_owned()),
            Problem::OutOfRange { value: part.into(), min: 0, max: PART_MAX },
        ));
    }
    for (name, segments) in [("r", &kernel.reads), ("w", &kernel.writes)] {
        for (i, segment) in segments.iter().enumerate() {
            check_segment(*segment, || format!("{name}[{i}]"))?;
        }
    }
    Ok(())
}

/// Allocations that were not freed yet.
#[derive(Default)]
pub(super) struct Live {
    /// Those that this run began, by address: bytes and line. None overlaps another, in a trace without an error.
    allocations: BTreeMap<u64, (u64, u64)>,
    /// Bytes, by address, of those that nothing can overlap: of no bytes, or left by an earlier run, which is a separate execution.
    others: HashMap<u64, u64>,
    /// A line that could not be read may have been an allocation.
    lost: bool,
}

impl Live {
    /// Another run begins. It may free what those before it left, and allocate it again.
    pub fn run(&mut self) {
        let left = std::mem::take(&mut self.allocations);
        self.others.extend(left.into_iter().map(|(addr, (bytes, _))| (addr, bytes)));
    }

    /// What a faulty line began or ended is not known: what follows is no error for that.
    fn lose(&mut self) {
        self.run();
        self.lost = true;
    }

    /// An allocation begins to live in a line, where none of this run does.
    pub fn alloc(&mut self, segment: Segment, line: u64) -> Result<(), Fault> {
        let Segment { addr, bytes } = segment;
        let last = self.allocations.range(..segment.end().max(addr + 1)).next_back();
        let over = last.map(|(addr, (bytes, line))| (Segment { addr: *addr, bytes: *bytes }, *line));
        let over = over.filter(|(old, _)| old.addr == addr || old.overlap(segment).is_some());
        if bytes > 0 {
            self.others.remove(&addr);
            self.allocations.insert(addr, (bytes, line));
        } else {
            self.others.insert(addr, 0);
        }
        let Some((Segment { addr, bytes }, line)) = over else { return Ok(()) };
        Err((Some("a".to_owned()), Problem::StillAllocated { addr, bytes, line }))
    }

    /// It ends; how many bytes it had. What this run began has as many as the `free` says, where it says that.
    pub fn free(&mut self, addr: u64, freed: Option<u64>) -> Result<Option<u64>, Fault> {
        let begun = self.allocations.remove(&addr);
        if let (Some((bytes, line)), Some(freed)) = (begun, freed.filter(|_| !self.lost))
            && freed != bytes
        {
            return Err((Some("n".to_owned()), Problem::FreedOtherwise { freed, addr, bytes, line }));
        }
        let live = begun.map(|(bytes, _)| bytes);
        Ok(live.or_else(|| self.others.remove(&addr)).or(self.lost.then_some(0)))
    }
}

/// As [`check_kernel`], for a segment.
pub(super) fn check_segment(segment: Segment, field: impl FnOnce() -> String) -> Result<(), Fault> {
    let Segment { addr, bytes } = segment;
    if addr >= ADDRESS_LIMIT || segment.end() > ADDRESS_LIMIT {
        return Err((Some(field()), Problem::PastAddressLimit { addr, bytes }));
    }
    Ok(())
}

/// The beginning of what a line says, on one line: it may be as long as the line, and have any character in it.
fn short(text: &str) -> String {
    const MOST: usize = 40;
    let mut short: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        short.push('…');
    }
    short
}

fn axis(position: usize) -> char {
    ['x', 'y', 'z'].get(position).copied().unwrap_or('?')
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn wrong(expected: &'static str, found: &Value) -> Problem {
    // A number is short and says more than its type; a list may be as long as the line.
    let found = match found {
        Value::Number(n) => n.to_string(),
        other => type_name(other).to_owned(),
    };
    Problem::WrongType { expected, found }
}

/// The fields of one object, with errors that name them.
struct Fields<'a> {
    object: &'a Object,
    /// What stands before a field's name in errors.
    prefix: &'static str,
}

impl<'a> Fields<'a> {
    fn new(object: &'a Object) -> Self {
        Self { object, prefix: "" }
    }

    fn fault<T>(&self, name: &str, problem: Problem) -> Result<T, Fault> {
        Err((Some(format!("{}{name}", self.prefix)), problem))
    }

    /// The field, where it is there and not null.
    fn present(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|v| !v.is_null())
    }

    fn required<T>(
        &self,
        name: &str,
        expected: &'static str,
        convert: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<T, Fault> {
        match self.present(name) {
            None => self.fault(name, Problem::Missing { expected }),
            Some(value) => convert(value).map_or_else(|| self.fault(name, wrong(expected, value)), Ok),
        }
    }

    fn string(&self, name: &str) -> Result<String, Fault> {
        self.required(name, "a string", |v| v.as_str().map(str::to_owned))
    }

    fn integer(&self, name: &str) -> Result<u64, Fault> {
        self.required(name, "a non-negative integer", Value::as_u64)
    }

    fn optional(&self, name: &str) -> Result<Option<u64>, Fault> {
        self.present(name).map(|_| self.integer(name)).transpose()
    }

    /// An optional number in `min..=max`, which fits in `T`.
    fn small<T: TryFrom<u64>>(&self, name: &str, min: u64, max: u64) -> Result<Option<T>, Fault> {
        if self.present(name).is_none() {
            return Ok(None);
        }
        let value = self.integer(name)?;
        match T::try_from(value) {
            Ok(small) if (min..=max).contains(&value) => Ok(Some(small)),
            _ => self.fault(name, Problem::OutOfRange { value, min, max }),
        }
    }

    /// A list of exactly `N` non-negative integers, which is what `expected` says.
    fn numbers<const N: usize>(
        &self,
        name: &str,
        expected: &'static str,
        value: &Value,
    ) -> Result<[u64; N], Fault> {
        let list: Option<&[Value; N]> = value.as_array().and_then(|list| list.as_slice().try_into().ok());
        let Some(list) = list else { return self.fault(name, wrong(expected, value)) };
        let mut numbers = [0; N];
        for (i, (number, item)) in numbers.iter_mut().zip(list).enumerate() {
            *number = match item.as_u64() {
                Some(value) => value,
                None => return self.fault(&format!("{name}[{i}]"), wrong("a non-negative integer", item)),
            };
        }
        Ok(numbers)
    }

    fn kernel_type(&self, name: &str) -> Result<KernelType, Fault> {
        match self.string(name)?.as_str() {
            "TENSOR" => Ok(KernelType::Tensor),
            "SIMT" => Ok(KernelType::Simt),
            "COPY" => Ok(KernelType::Copy),
            other => self.fault(name, Problem::UnknownKernelType { found: short(other) }),
        }
    }

    fn dims(&self, name: &str) -> Result<[u32; 3], Fault> {
        let expected = "[x, y, z] as three integers";
        let wide: [u64; 3] = self.numbers(name, expected, self.required(name, expected, Some)?)?;
        let mut dims = [0; 3];
        for (i, (dim, value)) in dims.iter_mut().zip(wide).enumerate() {
            *dim = match u32::try_from(value) {
                Ok(dim) => dim,
                Err(_) => return self.fault(name, Problem::DimensionTooLarge { axis: axis(i), value }),
            };
        }
        Ok(dims)
    }

    fn segments(&self, name: &str) -> Result<Vec<Segment>, Fault> {
        let list = self.required(name, "a list of [address, bytes]", Value::as_array)?;
        let mut segments = Vec::with_capacity(list.len());
        for (i, item) in list.iter().enumerate() {
            let expected = "[address, bytes] as two non-negative integers";
            let [addr, bytes] = self.numbers(&format!("{name}[{i}]"), expected, item)?;
            segments.push(Segment { addr, bytes });
        }
        Ok(segments)
    }

    /// A pool allocation; `bytes` is its size where the line does not say it.
    fn allocation(&self, bytes: Option<u64>) -> Result<Segment, Fault> {
        let bytes = match bytes.filter(|_| self.present("n").is_none()) {
            Some(bytes) => bytes,
            None => self.integer("n")?,
        };
        let segment = Segment { addr: self.integer("a")?, bytes };
        check_segment(segment, || "a".to_owned())?;
        Ok(segment)
    }

    /// An optional list of strings.
    fn strings(&self, name: &str) -> Result<Vec<String>, Fault> {
        let expected = "a list of strings";
        match self.present(name) {
            None => Ok(Vec::new()),
            Some(_) => self.required(name, expected, |v| {
                v.as_array()?.iter().map(|s| s.as_str().map(str::to_owned)).collect()
            }),
        }
    }
}

/// One execution of the recorded program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Its number; 0 for events before any `run` line.
    pub number: u64,
    /// What it was given, where the trace says so.
    pub input: Option<Value>,
    /// Its events in program order, without [`Event::Run`].
    pub events: Vec<Event>,
}

impl Run {
    /// Its kernels in program order.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.events.iter().filter_map(|event| match event {
            Event::Kernel(kernel) => Some(kernel),
            _ => None,
        })
    }

    /// Its kernels in program order, cut where the host waits: no kernel of one part overlaps one of another.
    /// Parts without kernels are left out.
    pub fn parts(&self) -> Vec<Vec<&Kernel>> {
        let mut parts = vec![Vec::new()];
        for event in &self.events {
            match event {
                Event::Sync { .. } => parts.push(Vec::new()),
                Event::Kernel(kernel) => {
                    if let Some(part) = parts.last_mut() {
                        part.push(kernel);
                    }
                }
                _ => {}
            }
        }
        parts.retain(|part| !part.is_empty());
        parts
    }
}

/// A whole trace in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The first line.
    pub header: Header,
    /// The executions in order.
    pub runs: Vec<Run>,
    /// What was odd.
    pub warnings: Vec<KtraceWarning>,
}

impl Trace {
    /// Reads a file, plain or zstd.
    ///
    /// # Errors
    /// All that is wrong in it, up to 20 errors, as far as reading could go on.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, KtraceErrors> {
        Self::read(Reader::open(path)?)
    }

    /// Reads what is left of `reader`.
    ///
    /// # Errors
    /// As [`Trace::load`].
    pub fn read<R: BufRead>(mut reader: Reader<R>) -> Result<Self, KtraceErrors> {
        let mut runs: Vec<Run> = Vec::new();
        let mut errors = Vec::new();
        while let Some(item) = reader.next() {
            match item {
                Ok((_, Event::Run { run })) => {
                    runs.push(Run { number: run, input: reader.run_input().cloned(), events: Vec::new() });
                }
                Ok((_, event)) => {
                    if runs.is_empty() {
                        runs.push(Run::default());
                    }
                    if let Some(run) = runs.last_mut() {
                        run.events.push(event);
                    }
                }
                Err(error) => {
                    errors.push(error);
                    if errors.len() == MAX_ERRORS {
                        break;
                    }
                }
            }
        }
        if errors.is_empty() {
            Ok(Self { warnings: std::mem::take(&mut reader.warnings), header: reader.header, runs })
        } else {
            Err(KtraceErrors(errors))
        }
    }

    /// Its kernels in program order, all runs together.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.runs.iter().flat_map(Run::kernels)
    }
}
