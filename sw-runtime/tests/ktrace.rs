//! The ktrace reader and writer: each rejection with its text, both compressions, and round trips.
//!
//! Property tests print the failing input and keep its seed in `proptest-regressions/`; `PROPTEST_CASES=10000` asks
//! for more cases and `PROPTEST_RNG_SEED=7` sets the seed.

use proptest::prelude::*;
use std::io::{BufReader, Read};
use windlass_runtime::analysis::TraceSummary;
use windlass_runtime::ktrace::{
    Compression, Event, Gpu, Header, Kernel, KernelType, KtraceErrors, MAX_LINE_BYTES, PARTITIONS, Problem,
    Reader, Segment, Trace, Writer,
};

const HEAD: &str = concat!(
    r#"{"e":"trace","ktrace":1,"name":"n","source":"s","producer":"p","gpu":{"name":"g"},"#,
    r#""params":{},"kernels":1,"notes":""}"#
);
const KERNEL: &str = concat!(
    r#"{"e":"k","i":0,"name":"a","op":"add","type":"SIMT","grid":[2,1,1],"block":[32,1,1],"smem":0,"#,
    r#""flops":64,"r":[[0,8]],"w":[[8,8]]}"#
);

fn read(text: impl AsRef<[u8]>) -> Result<Trace, KtraceErrors> {
    Trace::read(Reader::new(text.as_ref(), "t")?)
}

/// The one error of a trace, as a person sees it.
fn said(text: impl AsRef<[u8]>) -> String {
    let errors = read(text).expect_err("the trace must be rejected");
    assert_eq!(errors.0.len(), 1, "{errors}");
    errors.to_string()
}

/// A valid header, then these lines.
fn body(lines: &[&str]) -> String {
    [&[HEAD], lines].concat().join("\n")
}

/// What is said when `from` in the header becomes `to`.
fn bad_header(from: &str, to: &str) -> String {
    assert!(HEAD.contains(from));
    said(HEAD.replace(from, to))
}

/// What is said when `from` in a kernel becomes `to`.
fn bad_kernel(from: &str, to: &str) -> String {
    assert!(KERNEL.contains(from));
    said(body(&[&KERNEL.replace(from, to)]))
}

#[test]
fn a_whole_trace_is_read() {
    let run = r#"{"e":"run","run":3,"input":"seed 1"}"#;
    let rest = [
        run,
        r#"{"e":"alloc","a":8,"n":16}"#,
        KERNEL,
        r#"{"e":"sync","why":"copy to host"}"#,
        r#"{"e":"free","a":8}"#,
        r#"{"e":"free","a":100,"n":4}"#,
    ];
    let trace = read(body(&rest)).unwrap();
    assert_eq!(trace.header.gpu, Gpu { name: "g".into(), sms: None });
    assert!(trace.warnings.is_empty());
    let [run] = &trace.runs[..] else { panic!("{:?}", trace.runs) };
    assert_eq!((run.number, &run.input), (3, &Some("seed 1".into())));
    assert_eq!(run.events[0], Event::Alloc(Segment { addr: 8, bytes: 16 }));
    assert_eq!(run.events[2], Event::Sync { why: "copy to host".into() });
    assert_eq!(run.events[3], Event::Free(Segment { addr: 8, bytes: 16 }), "the size is the allocation's");
    assert_eq!(run.events[4], Event::Free(Segment { addr: 100, bytes: 4 }));
    let kernel = run.kernels().next().unwrap();
    assert_eq!((kernel.ctas(), kernel.threads(), kernel.bytes()), (2, 32, 16));
}

#[test]
fn the_reader_gives_line_numbers_and_goes_on_behind_an_error() {
    let text = body(&["[]", KERNEL]);
    let mut reader = Reader::new(text.as_bytes(), "t").unwrap();
    assert_eq!(reader.header().name, "n");
    assert_eq!(reader.next().unwrap().unwrap_err().line, 2);
    assert_eq!(reader.next().unwrap().unwrap().0, 3);
    assert!(reader.next().is_none() && reader.next().is_none());
}

#[test]
fn kernels_before_any_run_are_run_0_and_each_run_counts_from_0() {
    let trace = read(body(&[KERNEL, r#"{"e":"run","run":1}"#, KERNEL])).unwrap();
    assert_eq!(trace.runs.iter().map(|r| (r.number, r.events.len())).collect::<Vec<_>>(), [(0, 1), (1, 1)]);
}

#[test]
fn parts_are_cut_at_synchronisations() {
    let second = KERNEL.replace(r#""i":0"#, r#""i":1"#);
    let sync = r#"{"e":"sync","why":""}"#;
    let trace = read(body(&[sync, KERNEL, sync, sync, &second])).unwrap();
    assert_eq!(trace.runs[0].parts().iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn unknown_keys_and_kinds_are_skipped_and_null_is_absent() {
    let kernel = KERNEL.replace(r#""smem""#, r#""regs":null,"colour":[1],"smem""#);
    let trace = read(body(&[r#"{"e":"comment","text":1}"#, &kernel])).unwrap();
    assert_eq!(trace.kernels().count(), 1);
}

#[test]
fn blank_lines_and_carriage_returns_at_the_end_are_no_error() {
    assert!(read(format!("{HEAD}\r\n{KERNEL}\r\n\n \n")).is_ok());
}

#[test]
fn a_kernel_count_that_differs_is_a_warning() {
    let trace = read(HEAD).unwrap();
    assert_eq!(
        trace.warnings[0].to_string(),
        "t:1: field `kernels`: the header says 1 kernels, but 0 follow; the trace may be cut short; if not, correct the number"
    );
}

#[test]
fn not_json() {
    assert_eq!(
        said(body(&[r#"{"e":"#])),
        "t:2: the line is not a JSON object (EOF while parsing a value at column 5); \
         write one complete object per line"
    );
}

#[test]
fn not_an_object() {
    assert_eq!(
        said(body(&["[1]"])),
        "t:2: the line is not a JSON object but a list; write one object per line, with its kind in `e`"
    );
}

#[test]
fn not_utf8() {
    let text = [body(&["{}"]).trim_end_matches("{}").as_bytes(), b"{\xff}"].concat();
    assert_eq!(
        said(text),
        "t:2: byte 2 of the line is not UTF-8; a trace is UTF-8 text, plain or compressed with zstd"
    );
}

#[test]
fn a_blank_line_in_the_middle() {
    assert_eq!(
        said(body(&["", KERNEL])),
        "t:2: the line is blank; remove it (only the end of the file may have blank lines)"
    );
}

#[test]
fn a_line_past_the_limit() {
    let limit = MAX_LINE_BYTES as usize;
    let filler =
        |len: usize| format!(r#"{{"e":"x","y":"{}"}}"#, "z".repeat(len - r#"{"e":"x","y":""}"#.len()));
    assert!(read(body(&[&filler(limit), KERNEL])).is_ok());
    for end in [&[][..], &[KERNEL]] {
        let long = filler(limit + 1);
        assert_eq!(
            said(body(&[&[long.as_str()], end].concat())),
            "t:2: the line is longer than 16777216 bytes; write one kernel per line, with fewer segments"
        );
    }
}

#[test]
fn no_trace_line() {
    let expected = "comes where the `trace` line must be; put the `trace` line first";
    assert_eq!(said(""), format!("t:1: the end of the file {expected}"));
    assert_eq!(said(r#"{"e":"run","run":0}"#), format!("t:1: a `run` line {expected}"));
    assert_eq!(said(r#"{"e":"new"}"#), format!("t:1: a `new` line {expected}"));
}

#[test]
fn what_a_line_says_is_shown_on_one_line_and_not_at_any_length() {
    let kind = format!("a\\n{}", "x".repeat(100));
    let shown = format!("a\\n{}…", "x".repeat(38));
    assert_eq!(
        said(format!(r#"{{"e":"{kind}"}}"#)),
        format!("t:1: a `{shown}` line comes where the `trace` line must be; put the `trace` line first")
    );
    assert_eq!(
        bad_kernel(r#""SIMT""#, &format!("\"{kind}\"")),
        format!(
            "t:2: field `type`: \"{shown}\" is not a kernel type; write \"TENSOR\", \"SIMT\" or \"COPY\""
        )
    );
}

#[test]
fn a_kernel_before_the_trace_line() {
    assert_eq!(
        said(format!("{KERNEL}\n{HEAD}")),
        "t:1: a kernel comes before the `trace` line; put the `trace` line first"
    );
}

#[test]
fn a_second_trace_line() {
    assert_eq!(
        said(body(&[HEAD])),
        "t:2: this is a second `trace` line; keep one trace per file, and begin another execution with a `run` line"
    );
}

#[test]
fn an_unknown_version() {
    assert_eq!(
        bad_header(r#""ktrace":1"#, r#""ktrace":2"#),
        "t:1: field `ktrace`: version 2 is not known; write version 1, or use a newer windlass"
    );
}

#[test]
fn every_required_field_is_missed() {
    let rename = |text: &str, name: &str| {
        let key = format!("\"{name}\":");
        assert!(text.contains(&key), "{name}");
        text.replacen(&key, "\"absent\":", 1)
    };
    for (name, expected) in [
        ("e", "a string"),
        ("ktrace", "a non-negative integer"),
        ("name", "a string"),
        ("source", "a string"),
        ("producer", "a string"),
        ("gpu", "an object"),
        ("params", "an object"),
        ("kernels", "a non-negative integer"),
        ("notes", "a string"),
    ] {
        assert_eq!(said(rename(HEAD, name)), format!("t:1: field `{name}`: it is missing; add {expected}"));
    }
    assert_eq!(bad_header(r#"{"name":"g"}"#, "{}"), "t:1: field `gpu.name`: it is missing; add a string");
    for (name, expected) in [
        ("e", "a string"),
        ("i", "a non-negative integer"),
        ("name", "a string"),
        ("op", "a string"),
        ("type", "a string"),
        ("grid", "[x, y, z] as three integers"),
        ("block", "[x, y, z] as three integers"),
        ("smem", "a non-negative integer"),
        ("flops", "a non-negative integer"),
        ("r", "a list of [address, bytes]"),
        ("w", "a list of [address, bytes]"),
    ] {
        let text = body(&[&rename(KERNEL, name)]);
        assert_eq!(said(text), format!("t:2: field `{name}`: it is missing; add {expected}"));
    }
    for (line, name, expected) in [
        (r#"{"e":"run"}"#, "run", "a non-negative integer"),
        (r#"{"e":"alloc","n":1}"#, "a", "a non-negative integer"),
        (r#"{"e":"alloc","a":1}"#, "n", "a non-negative integer"),
        (r#"{"e":"free","n":1}"#, "a", "a non-negative integer"),
        (r#"{"e":"free","a":1}"#, "n", "a non-negative integer"),
        (r#"{"e":"sync"}"#, "why", "a string"),
    ] {
        assert_eq!(said(body(&[line])), format!("t:2: field `{name}`: it is missing; add {expected}"));
    }
}

#[test]
fn every_field_of_another_type() {
    for (from, to, message) in [
        (r#""name":"n""#, r#""name":7"#, "field `name`: it is 7; write a string"),
        (r#""ktrace":1"#, r#""ktrace":"1""#, "field `ktrace`: it is a string; write a non-negative integer"),
        (r#""params":{}"#, r#""params":[]"#, "field `params`: it is a list; write an object"),
        (r#""gpu":{"name":"g"}"#, r#""gpu":"g""#, "field `gpu`: it is a string; write an object"),
        (
            r#""name":"g""#,
            r#""name":"g","sms":0"#,
            "field `gpu.sms`: 0 is outside 1..=4294967295; write a number in that range",
        ),
        (
            r#""notes""#,
            r#""span":[1],"notes""#,
            "field `span`: it is a list; write [first address, one past the last]",
        ),
    ] {
        assert_eq!(bad_header(from, to), format!("t:1: {message}"));
    }
    let pair = "write [address, bytes] as two non-negative integers";
    let integer = "write a non-negative integer";
    for (from, to, message) in [
        (r#""e":"k""#, r#""e":4"#, "field `e`: it is 4; write a string".to_owned()),
        (r#""i":0"#, r#""i":-1"#, format!("field `i`: it is -1; {integer}")),
        (r#""smem":0"#, r#""smem":1.5"#, format!("field `smem`: it is 1.5; {integer}")),
        (r#""flops":64"#, r#""flops":true"#, format!("field `flops`: it is a boolean; {integer}")),
        ("[2,1,1]", "[2,1]", "field `grid`: it is a list; write [x, y, z] as three integers".to_owned()),
        ("[[0,8]]", "5", "field `r`: it is 5; write a list of [address, bytes]".to_owned()),
        ("[[0,8]]", "[[0,8],[1]]", format!("field `r[1]`: it is a list; {pair}")),
        ("[[8,8]]", "[[0,-8]]", format!("field `w[0][1]`: it is -8; {integer}")),
        ("[[0,8]]", "[[0,8],[1.5,8]]", format!("field `r[1][0]`: it is 1.5; {integer}")),
        ("[2,1,1]", "[2,1,-1]", format!("field `grid[2]`: it is -1; {integer}")),
        (
            r#""SIMT""#,
            r#""simt""#,
            r#"field `type`: "simt" is not a kernel type; write "TENSOR", "SIMT" or "COPY""#.to_owned(),
        ),
        (
            r#""smem":0"#,
            r#""smem":0,"regs":256"#,
            "field `regs`: 256 is outside 0..=255; write a number in that range".to_owned(),
        ),
        (
            r#""smem":0"#,
            r#""smem":0,"mnk":[1,2,3]"#,
            "field `mnk`: it is a list; write [M, N, K, batch] as integers".to_owned(),
        ),
        (r#""smem":0"#, r#""smem":0,"bytes":-1"#, format!("field `bytes`: it is -1; {integer}")),
        (r#""smem":0"#, r#""smem":0,"dur_ns":"1""#, format!("field `dur_ns`: it is a string; {integer}")),
        (r#""smem":0"#, r#""smem":0,"stream":[]"#, format!("field `stream`: it is a list; {integer}")),
        (r#""smem":0"#, r#""smem":0,"part":"0""#, format!("field `part`: it is a string; {integer}")),
        (
            r#""smem":0"#,
            r#""smem":0,"part":8"#,
            "field `part`: 8 is outside 0..=7; write a number in that range".to_owned(),
        ),
        (
            r#""smem":0"#,
            r#""smem":0,"part":256"#,
            "field `part`: 256 is outside 0..=7; write a number in that range".to_owned(),
        ),
        (
            r#""smem":0"#,
            r#""smem":0,"est":[1]"#,
            "field `est`: it is a list; write a list of strings".to_owned(),
        ),
    ] {
        assert_eq!(bad_kernel(from, to), format!("t:2: {message}"));
    }
}

#[test]
fn a_dimension_of_zero() {
    let message = "write 1 for a dimension that is not used";
    assert_eq!(bad_kernel("[2,1,1]", "[2,0,1]"), format!("t:2: field `grid`: dimension y is 0; {message}"));
    assert_eq!(
        bad_kernel("[32,1,1]", "[32,1,0]"),
        format!("t:2: field `block`: dimension z is 0; {message}")
    );
}

#[test]
fn a_dimension_past_32_bits() {
    assert_eq!(
        bad_kernel("[2,1,1]", "[4294967296,1,1]"),
        "t:2: field `grid`: dimension x is 4294967296, but can be at most 4294967295; split the kernel"
    );
    let large = KERNEL.replace("[2,1,1]", "[4294967295,4294967295,1]");
    assert_eq!(read(body(&[&large])).unwrap().kernels().next().unwrap().ctas(), u64::from(u32::MAX).pow(2));
}

#[test]
fn a_grid_past_64_bits() {
    for (from, field, what) in [("[2,1,1]", "grid", "CTAs"), ("[32,1,1]", "block", "threads")] {
        assert_eq!(
            bad_kernel(from, "[4294967295,2,4294967295]"),
            format!(
                "t:2: field `{field}`: 4294967295 x 2 x 4294967295 {what} are 2^64 or more; split the kernel"
            )
        );
    }
}

#[test]
fn an_allocation_over_one_that_lives() {
    let (alloc, empty) = (r#"{"e":"alloc","a":8,"n":16}"#, r#"{"e":"alloc","a":8,"n":0}"#);
    let (free, run) = (r#"{"e":"free","a":8}"#, r#"{"e":"run","run":1}"#);
    let over = "t:3: field `a`: the 16 bytes at 8 that line 2 allocates are not freed yet; \
                add their `free` before this `alloc`, or leave one of the two out";
    assert_eq!(said(body(&[alloc, alloc])), over);
    let (below, within) = (r#"{"e":"alloc","a":4,"n":5}"#, r#"{"e":"alloc","a":12,"n":4}"#);
    let beside = (r#"{"e":"alloc","a":4,"n":4}"#, r#"{"e":"alloc","a":24,"n":4}"#);
    assert_eq!(said(body(&[alloc, below])), over);
    assert_eq!(said(body(&[alloc, within])), over);
    for good in [
        &[alloc, free, alloc][..],
        &[alloc, run, alloc, free],
        &[alloc, run, within, free],
        &[alloc, run, free],
        &[empty, alloc],
        &[beside.0, beside.1, alloc],
        &[alloc, beside.0, beside.1],
    ] {
        let trace = read(body(good)).unwrap();
        assert_eq!(read(written(&trace, Compression::Plain)).unwrap().runs, trace.runs);
    }
}

#[test]
fn what_follows_a_faulty_line_is_no_error_for_it() {
    let (two, three) = (KERNEL.replace(r#""i":0"#, r#""i":1"#), KERNEL.replace(r#""i":0"#, r#""i":2"#));
    let (alloc, free) = (r#"{"e":"alloc","a":8,"n":16}"#, r#"{"e":"free","a":8}"#);
    // Any of them may have been the second kernel, or the end of the allocation.
    for bad in
        [&b"\xff"[..], b"{", b"[]", b"{}", br#"{"e":"k"}"#, b" ", &vec![b' '; MAX_LINE_BYTES as usize + 1]]
    {
        for after in [[&three, alloc, free], [&two, free, alloc]] {
            let before = body(&[KERNEL, alloc, ""]);
            said([before.as_bytes(), bad, b"\n", after.join("\n").as_bytes()].concat());
        }
    }
    for bad in [r#"{"e":"alloc","a":8}"#, r#"{"e":"alloc","n":8}"#, r#"{"e":"free"}"#] {
        said(body(&[KERNEL, bad, &two, free]));
        said(body(&[KERNEL, alloc, bad, &two, alloc]));
        assert_eq!(read(body(&[KERNEL, bad, &three])).unwrap_err().0.len(), 2, "it was no kernel");
    }
    // A new number counts on.
    assert_eq!(read(body(&["{", &two, &two])).unwrap_err().0.len(), 2);
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert!(read(format!("\u{feff}{HEAD}\n{KERNEL}\n")).is_ok());
    assert!(read(packed(&format!("\u{feff}{HEAD}\n{KERNEL}\n"))).is_ok());
}

#[test]
fn a_file_of_another_kind_is_told_in_one_line() {
    let json =
        "a JSON document that is not one object with an `e` per line, as profilers write it (Kineto, Chrome)";
    let binary =
        "binary, like a protobuf (ONNX, which `windlass import onnx` reads, a dump of XLA or an xplane)";
    let hlo = "the text of an HLO or MLIR module, as XLA dumps it";
    let long =
        format!(r#"{{"traceEvents":[{{"ph": "e", "ts":1}}],"x":"{}"}}"#, "x".repeat(MAX_LINE_BYTES as usize));
    for (text, looks) in [
        (&b"{\n  \"schemaVersion\": 1,\n  \"traceEvents\": []\n}\n"[..], json),
        (b"{\"schemaVersion\":1,\"traceEvents\":[]}", json),
        (b"\xef\xbb\xbf[{\"ph\":\"X\",\"ts\":1},\n", json),
        (b"{}", json),
        (long.as_bytes(), json),
        (b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:\xb9", binary),
        (b"\n\xf3\x01\x08\x01\x12\n/host:CPU", binary),
        (b"HloModule jit_step, is_scheduled=true\n", hlo),
        (b"module @jit_step attributes {mhlo.num_partitions = 1 : i32} {\n", hlo),
        (b"\x1f\x8b\x08\x00\x00", "compressed with gzip"),
        (b"\xff\xfe{\x00\"\x00", "UTF-16 text"),
    ] {
        let error = said(text);
        assert!(error.starts_with(&format!("t: this file is {looks}; a ktrace is text, ")), "{error}");
        assert!(
            error.ends_with("docs/ktrace.md says how to make one") && error.lines().count() == 1,
            "{error}"
        );
    }
    // A trace with an error is not one of them.
    for (text, message) in [
        (&br#"{"e":"trace","ktrace":1,"#[..], "the line is not a JSON object (EOF"),
        (br#"{"ktrace":1}"#, "field `e`: it is missing"),
        (br#"{"name":"x","e" : "k"}"#, "a kernel comes before the `trace` line"),
        (b"kernel,grid,block\n", "the line is not a JSON object (expected value"),
    ] {
        assert!(said(text).starts_with(&format!("t:1: {message}")), "{}", said(text));
    }
}

#[test]
fn an_address_plus_size_past_2_to_53() {
    let limit = 1u64 << 53;
    let said_of = |field: &str, addr: u64, bytes: u64| {
        format!(
            "t:2: field `{field}`: {bytes} bytes at {addr} reach past 2^53 (9007199254740992); \
             addresses are below 2^53, subtract a common base"
        )
    };
    for (addr, bytes) in [(limit - 1, 2), (limit, 0), (u64::MAX, u64::MAX), (1, u64::MAX)] {
        let segment = format!("[[{addr},{bytes}]]");
        assert_eq!(bad_kernel("[[0,8]]", &segment), said_of("r[0]", addr, bytes));
        assert_eq!(bad_kernel("[[8,8]]", &segment), said_of("w[0]", addr, bytes));
        let alloc = format!(r#"{{"e":"alloc","a":{addr},"n":{bytes}}}"#);
        assert_eq!(said(body(&[&alloc])), said_of("a", addr, bytes));
    }
    assert!(read(body(&[&KERNEL.replace("[[0,8]]", &format!("[[{},8]]", limit - 8))])).is_ok());
}

#[test]
fn an_index_that_does_not_count_up() {
    let message = "number the kernels of each run from 0 without gaps";
    assert_eq!(bad_kernel(r#""i":0"#, r#""i":1"#), format!("t:2: field `i`: 1, but 0 is next; {message}"));
    assert_eq!(said(body(&[KERNEL, KERNEL])), format!("t:3: field `i`: 0, but 1 is next; {message}"));
    // A gap is one error, not one for every kernel behind it.
    let [two, three] = [2, 3].map(|i| KERNEL.replace(r#""i":0"#, &format!(r#""i":{i}"#)));
    assert_eq!(said(body(&[KERNEL, &two, &three])), format!("t:3: field `i`: 2, but 1 is next; {message}"));
}

#[test]
fn no_index_comes_after_the_last() {
    let last = KERNEL.replace(r#""i":0"#, &format!(r#""i":{}"#, u64::MAX));
    let text = said(body(&[&last, &last]));
    assert!(text.contains("t:2: field `i`") && !text.contains("t:3"), "{text}");
}

#[test]
fn a_missing_index_counts_all_the_same() {
    let missing = KERNEL.replace(r#""i":0,"#, "");
    let next = KERNEL.replace(r#""i":0"#, r#""i":1"#);
    assert_eq!(said(body(&[&missing, &next])), "t:2: field `i`: it is missing; add a non-negative integer");
}

#[test]
fn several_errors_come_together_up_to_20() {
    let bad = KERNEL.replace("[2,1,1]", "[0,1,1]");
    let errors = read(body(&["[]", &bad, "7"])).unwrap_err();
    assert_eq!(errors.0.iter().map(|e| e.line).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(errors.to_string().lines().count(), 3);
    assert_eq!(read(body(&["7"; 50])).unwrap_err().0.len(), 20);
}

#[test]
fn a_file_that_is_not_there() {
    let error = Trace::load("no/such/file").unwrap_err();
    assert!(error.to_string().starts_with("no/such/file: "), "{error}");
    assert!(matches!(error.0[0].problem, Problem::Io(_)));
}

#[test]
fn a_read_that_fails_in_the_middle() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let text = format!("{HEAD}\n{KERNEL}\n");
    let input = BufReader::new(text.as_bytes().chain(Fails));
    let errors = Trace::read(Reader::new(input, "t").unwrap()).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "t:3: the disk is gone; check that the path exists and can be read or written"
    );
}

fn packed(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), 3).unwrap()
}

#[test]
fn zstd_is_known_by_its_content_and_may_have_several_frames() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.ktrace.jsonl"); // the name says nothing of zstd
    let frames = [packed(&format!("{HEAD}\n{}", &KERNEL[..40])), packed(&KERNEL[40..])].concat();
    std::fs::write(&path, frames).unwrap();
    assert_eq!(Trace::load(&path).unwrap(), read(body(&[KERNEL])).unwrap());
}

#[test]
fn a_zstd_stream_cut_anywhere_is_truncated() {
    let whole = packed(&body(&[KERNEL]));
    for cut in 2..whole.len() {
        let errors = read(&whole[..cut]).expect_err("cut");
        let last = errors.0.last().unwrap();
        assert!(matches!(last.problem, Problem::TruncatedZstd), "cut at {cut}: {errors}");
    }
    // Cut behind the header's line, the error is on the line that is not whole.
    let padding: String = (0..200_000u64).map(|i| format!(r#"{{"e":"x","y":{}}}"#, i * i) + "\n").collect();
    let long = packed(&format!("{HEAD}\n{padding}"));
    let errors = read(&long[..long.len() / 2]).unwrap_err();
    let line = errors.0[0].line;
    assert!(line > 2);
    assert_eq!(
        errors.to_string(),
        format!("t:{line}: the zstd stream is truncated; copy or record the file again")
    );
}

#[test]
fn a_damaged_zstd_stream() {
    let mut whole = packed(&body(&[KERNEL]));
    whole.extend(b"garbage behind the frame");
    let text = read(&whole).unwrap_err().to_string();
    assert!(text.starts_with("t:2: the zstd stream is damaged ("), "{text}");
    assert!(text.ends_with("; copy or record the file again"), "{text}");
}

fn written(trace: &Trace, compression: Compression) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), "out", &trace.header, compression).unwrap();
    writer.trace(trace).unwrap();
    writer.finish().unwrap()
}

fn workload(name: &str) -> String {
    format!("{}/../workloads/{name}.ktrace.jsonl", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn real_traces_are_stable_after_the_first_write() {
    for name in ["alexnet-b1", "brax-v1-ant-b256"] {
        let trace = Trace::load(workload(name)).unwrap();
        assert!(trace.warnings.is_empty());
        let first = written(&trace, Compression::Plain);
        let again = read(&first).unwrap();
        assert_eq!(again, trace);
        assert_eq!(written(&again, Compression::Plain), first);
        assert_eq!(read(written(&trace, Compression::Zstd)).unwrap(), trace);
    }
}

#[test]
fn no_flipped_bit_in_a_compressed_trace_goes_unnoticed() {
    let trace = Trace::load(workload("alexnet-b1")).unwrap();
    let good = written(&trace, Compression::Zstd);
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        if let Ok(read) = read(&bad) {
            assert_eq!(read, trace, "byte {at}");
        }
    }
}

#[test]
fn the_writer_makes_files_that_load() {
    let dir = tempfile::tempdir().unwrap();
    let trace = read(body(&[KERNEL])).unwrap();
    for (name, begins) in [("t.jsonl", &b"{\"e\":"[..]), ("t.jsonl.zst", &[0x28, 0xb5, 0x2f, 0xfd])] {
        let path = dir.path().join(name);
        trace.save(&path).unwrap();
        assert!(std::fs::read(&path).unwrap().starts_with(begins), "{name}");
        assert_eq!(Trace::load(&path).unwrap(), trace);
    }
    assert!(trace.save(dir.path()).is_err());
}

#[test]
fn a_file_that_is_not_written_to_its_end_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let trace = read(body(&[KERNEL])).unwrap();
    let mut bad = trace.clone();
    let last = bad.runs[0].events[0].clone();
    // Refused at its second kernel, which has the number of the first.
    bad.runs[0].events.push(last);
    for name in ["t.jsonl", "t.jsonl.zst"] {
        let path = dir.path().join(name);
        trace.save(&path).unwrap();
        bad.save(&path).unwrap_err();
        assert_eq!(Trace::load(&path).unwrap(), trace);
        let mut writer = Writer::create(&path, &trace.header, Compression::Plain).unwrap();
        writer.event(&trace.runs[0].events[0]).unwrap();
        drop(writer);
        assert_eq!(Trace::load(&path).unwrap(), trace);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "nothing else is left");
}

#[test]
fn a_partition_is_kept_and_none_is_not_written() {
    let text = |kernel: &str| {
        let trace = read(body(&[kernel])).unwrap();
        let mut writer = Writer::new(Vec::new(), "t", &trace.header, Compression::Plain).unwrap();
        writer.trace(&trace).unwrap();
        (trace.kernels().next().unwrap().part, String::from_utf8(writer.finish().unwrap()).unwrap())
    };
    for part in 0..PARTITIONS {
        let (read, written) = text(&KERNEL.replace(r#""smem":0"#, &format!(r#""smem":0,"part":{part}"#)));
        assert_eq!(read, Some(part));
        assert!(written.contains(&format!(r#""w":[[8,8]],"part":{part}}}"#)), "{written}");
    }
    let (read, written) = text(KERNEL);
    assert!(read.is_none() && !written.contains("part"), "{written}");
}

#[test]
fn a_kernel_may_move_other_bytes_than_its_segments_have() {
    let text = KERNEL.replace(r#""smem":0"#, r#""smem":0,"bytes":3"#);
    let trace = read(body(&[&text])).unwrap();
    let kernel = trace.kernels().next().unwrap();
    assert_eq!((kernel.traffic, kernel.bytes(), kernel.segment_bytes()), (Some(3), 3, 16));
    let written = String::from_utf8(written(&trace, Compression::Plain)).unwrap();
    assert!(written.contains(r#""w":[[8,8]],"bytes":3}"#), "{written}");
    assert_eq!(TraceSummary::new(&trace).unwrap().bytes, 3);
}

#[test]
fn the_writer_refuses_what_the_reader_rejects() {
    let good = read(body(&[KERNEL])).unwrap();
    let kernel = good.kernels().next().unwrap();
    let beyond = Segment { addr: 1 << 53, bytes: 1 };
    let mut writer = Writer::new(Vec::new(), "out", &good.header, Compression::Plain).unwrap();
    for (event, message) in [
        (
            Event::Kernel(Kernel { grid: [0, 1, 1], ..kernel.clone() }),
            "out:2: field `grid`: dimension x is 0; write 1 for a dimension that is not used",
        ),
        (
            Event::Kernel(Kernel { index: 5, ..kernel.clone() }),
            "out:2: field `i`: 5, but 0 is next; number the kernels of each run from 0 without gaps",
        ),
        (
            Event::Kernel(Kernel { regs: Some(256), ..kernel.clone() }),
            "out:2: field `regs`: 256 is outside 0..=255; write a number in that range",
        ),
        (
            Event::Kernel(Kernel { part: Some(PARTITIONS), ..kernel.clone() }),
            "out:2: field `part`: 8 is outside 0..=7; write a number in that range",
        ),
        (
            Event::Free(beyond),
            "out:2: field `a`: 1 byte at 9007199254740992 reaches past 2^53 (9007199254740992); \
             addresses are below 2^53, subtract a common base",
        ),
        (
            Event::Sync { why: "x".repeat(MAX_LINE_BYTES as usize) },
            "out:2: the line is longer than 16777216 bytes; write one kernel per line, with fewer segments",
        ),
    ] {
        assert_eq!(writer.event(&event).unwrap_err().to_string(), message);
    }
    writer.event(&Event::Kernel(kernel.clone())).unwrap();
    assert_eq!(read(writer.finish().unwrap()).unwrap().kernels().count(), 1);

    let no_sms = Header { gpu: Gpu { sms: Some(0), ..Gpu::default() }, ..good.header.clone() };
    let no_params = Header { params: 3.into(), ..good.header.clone() };
    let deep = (0..200).fold(serde_json::Value::Null, |inner, _| serde_json::json!([inner]));
    let params = serde_json::json!({ "deep": &deep });
    let too_deep = Header { params, ..good.header.clone() };
    let error = Writer::new(Vec::new(), "out", &too_deep, Compression::Plain).err().unwrap().to_string();
    assert!(
        error.starts_with("out:1: field `params`: the line is not a JSON object (recursion limit"),
        "{error}"
    );
    let mut writer = Writer::new(Vec::new(), "out", &good.header, Compression::Plain).unwrap();
    let error = writer.run(0, Some(&deep)).unwrap_err().to_string();
    assert!(
        error.starts_with("out:2: field `input`: the line is not a JSON object (recursion limit"),
        "{error}"
    );
    for (header, message) in [
        (no_sms, "out:1: field `gpu.sms`: 0 is outside 1..=4294967295; write a number in that range"),
        (no_params, "out:1: field `params`: it is 3; write an object"),
    ] {
        let error = Writer::new(Vec::new(), "out", &header, Compression::Plain).err().unwrap();
        assert_eq!(error.to_string(), message);
    }
}

fn segment() -> impl Strategy<Value = Segment> {
    (0..1u64 << 53, any::<u64>()).prop_map(|(addr, n)| Segment { addr, bytes: n % ((1 << 53) - addr + 1) })
}

/// Dimensions whose product is below 2^64.
fn dims() -> impl Strategy<Value = [u32; 3]> {
    prop_oneof![prop::array::uniform3(1..1u32 << 21), (1u32.., 1u32..).prop_map(|(x, z)| [x, 1, z])]
}

fn kernel() -> impl Strategy<Value = Kernel> {
    let kind = prop_oneof![Just(KernelType::Tensor), Just(KernelType::Simt), Just(KernelType::Copy)];
    let segments = || prop::collection::vec(segment(), 0..4);
    (
        (any::<String>(), any::<String>(), kind, dims(), dims(), any::<u64>()),
        (prop::option::of(0..256u32), any::<u64>(), any::<Option<[u64; 4]>>(), segments(), segments()),
        (
            any::<Option<u64>>(),
            any::<Option<u64>>(),
            any::<u32>(),
            prop::option::of(0..PARTITIONS),
            prop::collection::vec(any::<String>(), 0..3),
        ),
    )
        .prop_map(|(a, b, c)| {
            let (name, op, kind, grid, block, smem) = a;
            let (regs, flops, mnk, reads, writes) = b;
            let (traffic, dur_ns, stream, part, est) = c;
            Kernel {
                index: 0,
                name,
                op,
                kind,
                grid,
                block,
                smem,
                regs,
                flops,
                mnk,
                reads,
                writes,
                traffic,
                dur_ns,
                stream,
                part,
                est,
            }
        })
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        1 => any::<u64>().prop_map(|run| Event::Run { run }),
        6 => kernel().prop_map(Event::Kernel),
        1 => segment().prop_map(Event::Alloc),
        1 => segment().prop_map(Event::Free),
        1 => any::<String>().prop_map(|why| Event::Sync { why }),
    ];
    prop::collection::vec(event, 0..20).prop_map(|mut events| {
        // No allocation over one that lives.
        let mut live: Vec<Segment> = Vec::new();
        events.retain(|event| match event {
            Event::Alloc(new) => {
                let free = live.iter().all(|old| old.addr != new.addr && old.overlap(*new).is_none());
                live.extend(Some(*new).filter(|_| free));
                free
            }
            _ => true,
        });
        let mut next = 0;
        for event in &mut events {
            match event {
                Event::Run { .. } => next = 0,
                Event::Kernel(kernel) => {
                    kernel.index = next;
                    next += 1;
                }
                _ => {}
            }
        }
        events
    })
}

fn header() -> impl Strategy<Value = Header> {
    (any::<[String; 5]>(), any::<Option<u32>>(), any::<Option<[u64; 2]>>(), any::<u64>(), -1e300..1e300f64)
        .prop_map(|([name, source, producer, gpu, notes], sms, span, kernels, number)| Header {
            name,
            source,
            producer,
            gpu: Gpu { name: gpu, sms: sms.filter(|s| *s > 0) },
            params: serde_json::json!({ "number": number, "list": [kernels] }),
            kernels,
            span,
            notes,
        })
}

proptest! {
    #[test]
    fn what_is_written_is_read(header in header(), events in events(), zstd in any::<bool>()) {
        let compression = if zstd { Compression::Zstd } else { Compression::Plain };
        let mut writer = Writer::new(Vec::new(), "t", &header, compression)?;
        for event in &events {
            writer.event(event)?;
        }
        let bytes = writer.finish()?;
        let mut reader = Reader::new(&bytes[..], "t")?;
        prop_assert_eq!(reader.header(), &header);
        let back: Vec<(u64, Event)> = reader.by_ref().collect::<Result<_, _>>()?;
        let numbered: Vec<(u64, Event)> = (2..).zip(events).collect();
        prop_assert_eq!(back, numbered);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(cut in 0..400usize, at in 0..400usize, byte in any::<u8>()) {
        let mut text = body(&[KERNEL]).into_bytes();
        if let Some(b) = text.get_mut(at) {
            *b = byte;
        }
        text.truncate(text.len().saturating_sub(cut));
        let _ = read(&text); // an error is fine
    }
}
