//! The registers as data, and what is written from them: defines of the C header, and SystemRDL.

use super::QUEUE_BITS;
use std::fmt::Write as _;

/// What software may do with a register, and hardware with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Software reads what never changes.
    Constant,
    /// Software reads what hardware writes.
    Status,
    /// Software writes, and reads what it wrote.
    Control,
    /// Hardware sets bits. Software reads them, and clears those in whose place it writes 1.
    Event,
    /// Software writes, so that something happens. Nothing is kept.
    Command,
}

impl Access {
    /// What software may do: `read`, `write` or `read and write`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant | Self::Status => "read",
            Self::Control | Self::Event => "read and write",
            Self::Command => "write",
        }
    }

    /// Properties of a field.
    fn properties(self) -> &'static str {
        match self {
            Self::Constant => "sw = r; hw = na;",
            Self::Status => "sw = r; hw = w;",
            Self::Control => "sw = rw; hw = r;",
            Self::Event => "sw = rw; hw = w; onwrite = woclr; hwset;",
            Self::Command => "sw = w; hw = r; onwrite = wuser;",
        }
    }
}

/// What bits are after a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// This.
    Is(u32),
    /// The design's slots.
    Slots,
    /// The design's SMs.
    Sms,
    /// Places of the queue: a parameter of the module says how many.
    Queue,
    /// They count from the reset on.
    None,
}

/// A field of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// Its highest bit. From 32 on it is in the next word.
    pub high: u32,
    /// Its lowest bit.
    pub low: u32,
    /// Its name.
    pub name: &'static str,
    /// What it is after a reset.
    pub reset: Reset,
    /// What it is; empty where that is said of the register.
    pub description: &'static str,
}

/// How many of a register stand behind each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// One.
    One,
    /// One per word of a packet.
    Words,
    /// One per counter.
    Counters,
}

/// A register, or several that stand behind each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name.
    pub name: &'static str,
    /// Its first byte's address.
    pub offset: u32,
    /// Whose it is.
    pub access: Access,
    /// What it is, without its bits.
    pub description: &'static str,
    /// Its fields. All other bits are 0.
    pub bits: &'static [Bits],
    /// How many there are.
    pub count: Count,
}

impl Register {
    /// What it is, with its bits.
    pub fn described(&self) -> String {
        let said = |Bits { high, low, description, .. }: &Bits| match high == low {
            true => format!("{low} {description}"),
            false => format!("{high}:{low} {description}"),
        };
        let bits: Vec<String> =
            self.bits.iter().filter(|bits| !bits.description.is_empty()).map(said).collect();
        let colon = if bits.is_empty() { "" } else { ": " };
        format!("{}{colon}{}", self.description, bits.join("; "))
    }
}

const fn bits(high: u32, low: u32, name: &'static str, reset: Reset, description: &'static str) -> Bits {
    Bits { high, low, name, reset, description }
}

/// A field that is the whole register.
const fn whole(name: &'static str, reset: u32) -> Bits {
    bits(31, 0, name, Reset::Is(reset), "")
}

/// All of them, of 32 bits.
pub const REGISTERS: [Register; 15] = [
    Register {
        name: "ID",
        offset: 0x000,
        access: Access::Constant,
        description: "0x574e444c: these are registers of Windlass",
        bits: &[whole("VALUE", 0x574e_444c)],
        count: Count::One,
    },
    Register {
        name: "VERSION",
        offset: 0x004,
        access: Access::Constant,
        description: "1: of this map",
        bits: &[whole("VALUE", 1)],
        count: Count::One,
    },
    Register {
        name: "SHAPE",
        offset: 0x008,
        access: Access::Constant,
        description: "size of this design",
        bits: &[
            bits(15, 0, "SLOTS", Reset::Slots, "slots of the window"),
            bits(31, 16, "SMS", Reset::Sms, "SMs"),
        ],
        count: Count::One,
    },
    Register {
        name: "STATUS",
        offset: 0x00c,
        access: Access::Status,
        description: "state of queue, window and partitions",
        bits: &[
            bits(7, 0, "FREE", Reset::Queue, "free places of the queue"),
            bits(15, 8, "KERNELS", Reset::Is(0), "kernels in the window"),
            bits(23, 16, "OLDEST", Reset::Is(0), "id of the oldest kernel in the window"),
            bits(24, 24, "OLDEST_VALID", Reset::Is(0), "a kernel is in the window"),
            bits(25, 25, "PART_BUSY", Reset::Is(0), "a write of a partition is under way"),
            bits(26, 26, "IDLE", Reset::Is(1), "idle: no beat in the queue, no kernel in the window"),
        ],
        count: Count::One,
    },
    Register {
        name: "ERRORS",
        offset: 0x010,
        access: Access::Event,
        description: "what happened since it was cleared, by writing 1",
        bits: &[
            bits(0, 0, "HOST", Reset::Is(0), "host_err_o"),
            bits(1, 1, "DONE", Reset::Is(0), "done_err_o"),
            bits(2, 2, "RETIRE", Reset::Is(0), "ret_err_o"),
            bits(3, 3, "BEAT_LOST", Reset::Is(0), "a beat was refused, for the queue was full"),
            bits(
                4,
                4,
                "PART_LOST",
                Reset::Is(0),
                "a write of a partition was refused, for one was under way",
            ),
        ],
        count: Count::One,
    },
    Register {
        name: "IRQ_ENABLE",
        offset: 0x014,
        access: Access::Control,
        description: "which of the bits of IRQ raise irq",
        bits: &[
            bits(4, 0, "ERRORS", Reset::Is(0), "those of ERRORS"),
            bits(8, 8, "DONE", Reset::Is(0), "that DONE has reached WAIT_FOR"),
        ],
        count: Count::One,
    },
    Register {
        name: "IRQ",
        offset: 0x018,
        access: Access::Status,
        description: "why irq is high",
        bits: &[
            bits(4, 0, "ERRORS", Reset::Is(0), "enabled bits of ERRORS"),
            bits(8, 8, "DONE", Reset::Is(0), "enabled, and DONE has reached WAIT_FOR"),
        ],
        count: Count::One,
    },
    Register {
        name: "TAKEN",
        offset: 0x01c,
        access: Access::Status,
        description: "kernels that the front end took, modulo 2^32",
        bits: &[whole("KERNELS", 0)],
        count: Count::One,
    },
    Register {
        name: "DONE",
        offset: 0x020,
        access: Access::Status,
        description: "so many kernels, from the first after the reset on, have retired, modulo 2^32; later ones may have, too",
        bits: &[whole("KERNELS", 0)],
        count: Count::One,
    },
    Register {
        name: "WAIT_FOR",
        offset: 0x024,
        access: Access::Control,
        description: "the value of DONE that raises bit 8 of IRQ, as long as DONE is that or up to 2^31 - 1 more",
        bits: &[whole("KERNELS", 0)],
        count: Count::One,
    },
    Register {
        name: "PART_MASK",
        offset: 0x028,
        access: Access::Control,
        description: "32 SMs of a partition, for PART_WRITE",
        bits: &[whole("SMS", 0)],
        count: Count::One,
    },
    Register {
        name: "PART_WRITE",
        offset: 0x02c,
        access: Access::Command,
        description: "gives SMs 32 * word to 32 * word + 31 of a partition the bits of PART_MASK",
        bits: &[
            bits(2, 0, "PART", Reset::Is(0), "the partition"),
            bits(10, 8, "WORD", Reset::Is(0), "word: which 32 SMs"),
        ],
        count: Count::One,
    },
    Register {
        name: "DOORBELL",
        offset: 0x030,
        access: Access::Command,
        description: "puts PACKET into the queue as a beat",
        bits: &[bits(0, 0, "LAST", Reset::Is(0), "it is the kernel's last beat")],
        count: Count::One,
    },
    Register {
        name: "PACKET",
        offset: 0x040,
        access: Access::Control,
        description: "the next beat, as many registers as it has words, laid out as struct windlass_packet",
        bits: &[whole("WORD", 0)],
        count: Count::Words,
    },
    Register {
        name: "COUNTERS",
        offset: 0x200,
        access: Access::Status,
        description: "at 8 * n counter n, which counts from the reset on",
        bits: &[
            bits(31, 0, "LOW", Reset::None, "its lower 32 bits"),
            bits(47, 32, "HIGH", Reset::None, "the upper 16 of the one whose lower ones were read last"),
        ],
        count: Count::Counters,
    },
];

/// Their offsets in C.
pub(super) fn offsets() -> String {
    let define = |register: &Register| {
        let Register { name, offset, access, .. } = register;
        let (access, described) = (access.name(), register.described());
        format!("/* {access}: {described} */\n#define WINDLASS_REG_{name} 0x{offset:03x}u\n")
    };
    REGISTERS.iter().map(define).collect()
}

/// The bits of a register in C, with names that begin with `prefix`: a flag as a mask, another field as a macro that takes it from a value.
pub(super) fn fields(register: &str, prefix: &str) -> String {
    let bits = REGISTERS.iter().filter(|r| r.name == register).flat_map(|r| r.bits);
    let define = |Bits { high, low, name, .. }: &Bits| {
        let name = format!("#define WINDLASS_{prefix}_{name}");
        let (value, most) = (prefix.to_lowercase(), u32::MAX >> (31 - (high - low)));
        match (high == low, low) {
            (true, _) => format!("{name} 0x{:08x}u\n", 1u32 << low),
            (false, 0) => format!("{name}({value}) (({value}) & 0x{most:x}u)\n"),
            (false, _) => format!("{name}({value}) (({value}) >> {low} & 0x{most:x}u)\n"),
        }
    };
    bits.map(define).collect()
}

/// What a design's registers are in SystemRDL, beside [`REGISTERS`].
pub(super) struct Sizes<'a> {
    pub slots: usize,
    pub sms: usize,
    pub words: u32,
    /// Names of the counters.
    pub counters: &'a [String],
    /// Which bits of a packet are which field.
    pub packet: String,
}

impl Sizes<'_> {
    /// The fields of a register, or of its `word` alone.
    fn fields(&self, register: &Register, word: u32, indent: &str) -> String {
        let field = |Bits { high, low, name, reset, description }: &Bits| {
            let description = if description.is_empty() { register.description } else { description };
            let reset = match *reset {
                Reset::Is(value) if value > 9 => format!(" = 0x{value:08x}"),
                Reset::Is(value) => format!(" = {value}"),
                Reset::Slots => format!(" = {}", self.slots),
                Reset::Sms => format!(" = {}", self.sms),
                Reset::Queue => " = 1 << QUEUE_BITS".to_owned(),
                Reset::None => String::new(),
            };
            let (properties, high, low) = (register.access.properties(), high % 32, low % 32);
            format!(
                "{indent}field {{ desc = \"{description}\"; {properties} }} {name}[{high}:{low}]{reset};\n"
            )
        };
        register.bits.iter().filter(|bits| bits.low / 32 == word).map(field).collect()
    }

    /// The address map of the module `name`.
    pub(super) fn address_map(&self, name: &str) -> String {
        let mut text = format!(
            "addrmap {name} #(longint unsigned QUEUE_BITS = {QUEUE_BITS}) {{\n  name = \"{name}\";\n  desc = \"Registers of a front end on an AXI4-Lite bus. QUEUE_BITS is the module's parameter. What has no register, or no such access, is answered with SLVERR.\";\n  littleendian;\n  default regwidth = 32;\n  default accesswidth = 32;\n"
        );
        for register in &REGISTERS {
            let Register { name, offset, description, bits, count, .. } = register;
            // What a write does by itself, SystemRDL allows outside of a generated block only.
            let external = if register.access == Access::Command { "external " } else { "" };
            let (kind, list, array, stride) = match count {
                Count::One => ("reg", String::new(), String::new(), ""),
                Count::Words => ("reg", format!(": {}", self.packet), format!("[{}]", self.words), " += 4"),
                Count::Counters => {
                    let names = self.counters.iter().enumerate().map(|(n, name)| format!("{n} {name}"));
                    let names: Vec<String> = names.collect();
                    ("regfile", format!(": {}", names.join("; ")), format!("[{}]", names.len()), " += 8")
                }
            };
            let fields = match count {
                Count::One | Count::Words => self.fields(register, 0, "    "),
                // Its two words are a register each.
                Count::Counters => (0..)
                    .zip(*bits)
                    .map(|(n, Bits { name, description, .. })| {
                        let fields = self.fields(register, n, "      ");
                        format!(
                            "    reg {{\n      desc = \"{description}\";\n{fields}    }} {name} @ 0x{:x};\n",
                            4 * n
                        )
                    })
                    .collect(),
            };
            let _ = write!(
                text,
                "\n  {external}{kind} {{\n    desc = \"{description}{list}\";\n{fields}  }} {name}{array} @ 0x{offset:03x}{stride};\n"
            );
        }
        text + "};\n"
    }
}
