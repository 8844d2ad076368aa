//! Execution trace of a call: QEMU runs one instruction at a time and prints the registers before
//! each, so that instructions and stack are counted, not sampled.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::elf::Elf;

/// One call of the probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) instructions: u64,
    /// Bytes below the stack pointer at the call.
    pub(super) stack: u64,
    /// The most instructions on end that no interrupt precedes: those between masking and
    /// unmasking, with the latter.
    pub(super) masked: u64,
}

/// Runs an image: the calls of its probe, in their order.
pub(super) fn run(boot: &mut Command, image: &Elf) -> Result<Vec<Call>, String> {
    let probe = image.function("probe").ok_or("has no probe")?;
    // The flash's driver is not counted; and opening takes long, and is not asked for.
    let code = image.code_without(|name| name.starts_with("flash_") || name == "probe_open");
    boot.args(["-singlestep", "-d", "exec,cpu,nochain", "-dfilter", &code])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = boot.spawn().map_err(|error| error.to_string())?;
    let log = child.stderr.take().ok_or("no log")?;
    let calls = calls(BufReader::new(log), probe.address, image);
    let status = child.wait().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("the image ended with {status}"));
    }
    let calls = calls.map_err(|error| error.to_string())?;
    if calls.is_empty() {
        return Err("the probe was not called".to_owned());
    }
    Ok(calls)
}

/// The registers before an instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Registers {
    pc: u64,
    sp: u64,
    return_to: u64,
    /// The register `mstatus` of RISC-V.
    mstatus: Option<u64>,
}

/// A call that has not returned.
struct OpenCall {
    at: Registers,
    call: Call,
    /// Instructions since interrupts were masked.
    masked: u64,
}

fn calls(log: impl BufRead, probe: u64, image: &Elf) -> std::io::Result<Vec<Call>> {
    let mut counter = Counter {
        probe,
        image,
        open: None,
        calls: Vec::new(),
        primask: false,
    };
    let mut registers = Registers::default();
    for line in log.lines() {
        let line = line?;
        if let Some(rest) = line.strip_prefix("Trace ") {
            counter.count(registers);
            // Trace 0: host address [flags/pc/flags/flags] name
            let pc = rest.split('/').nth(1).and_then(hex).unwrap_or_default();
            registers = Registers {
                pc,
                ..Registers::default()
            };
        } else if counter.open.is_some() || registers.pc == probe {
            registers.read(&line);
        }
    }
    counter.count(registers);
    Ok(counter.calls)
}

struct Counter<'a> {
    probe: u64,
    image: &'a Elf,
    open: Option<OpenCall>,
    calls: Vec<Call>,
    /// Whether an Arm processor masks interrupts.
    primask: bool,
}

impl Counter<'_> {
    fn count(&mut self, registers: Registers) {
        if self.open.is_none() && registers.pc == self.probe {
            self.open = Some(OpenCall {
                at: registers,
                call: Call::default(),
                masked: 0,
            });
        }
        let Some(open) = &mut self.open else { return };
        if registers.pc == open.at.return_to && registers.sp == open.at.sp {
            self.calls.push(open.call);
            self.open = None;
            return;
        }
        open.call.instructions += 1;
        let stack = open.at.sp.saturating_sub(registers.sp);
        open.call.stack = open.call.stack.max(stack);
        let masked = registers
            .mstatus
            .map_or(self.primask, |mstatus| mstatus & MIE == 0);
        open.masked = if masked { open.masked + 1 } else { 0 };
        open.call.masked = open.call.masked.max(open.masked);
        match self.image.halfword(registers.pc) {
            Some(CPSID) => self.primask = true,
            Some(CPSIE | MSR_FIRST..=MSR_LAST) => self.primask = false,
            _ => {}
        }
    }
}

/// Bit of `mstatus` that enables interrupts.
const MIE: u64 = 1 << 3;
/// `cpsid i`, `cpsie i`, and the first half of `msr primask`, which is what a critical section has
/// of `msr`, from register 0 to 15.
const CPSID: u16 = 0xb672;
const CPSIE: u16 = 0xb662;
const MSR_FIRST: u16 = 0xf380;
const MSR_LAST: u16 = 0xf38f;

impl Registers {
    /// `R12=00000000 R13=20003ff8 R14=000000c5 R15=00000334`, or ` x0/zero  00000000 x1/ra
    /// 80000040 x2/sp  80fffff0`.
    fn read(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some(pair) => pair,
                None => (word, words.clone().next().unwrap_or_default()),
            };
            let register = match name {
                "R13" | "x2/sp" => &mut self.sp,
                "R14" | "x1/ra" => &mut self.return_to,
                "mstatus" => self.mstatus.insert(0),
                _ => continue,
            };
            *register = hex(value).unwrap_or_default();
            if name == "R14" {
                // The lowest bit says that the code is Thumb's.
                *register &= !1;
            }
        }
    }
}

fn hex(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the emulator says of instructions at these addresses.
    fn arm(steps: &[(u64, u64)]) -> String {
        let step = |(pc, sp): &(u64, u64)| {
            format!(
                "Trace 0: 0x7f8438000100 [00800400/{pc:08x}/00000510/ff000201] name\n\
                 R08=00000000 R09=00000000 R10=00000000 R11=00000000\n\
                 R12=00000000 R13={sp:08x} R14=00000201 R15={pc:08x}\n\
                 XPSR=41000000 -Z-- T priv-thread\n"
            )
        };
        steps.iter().map(step).collect()
    }

    fn image(instructions: &[u16]) -> Elf {
        let bytes = instructions.iter().flat_map(|i| i.to_le_bytes()).collect();
        Elf {
            contents: vec![(0x100, bytes)],
            ..Elf::default()
        }
    }

    #[test]
    fn instructions_and_stack_of_a_call_are_counted() {
        let steps = [
            (0x1fe, 0x2000),
            (0x100, 0x2000),
            (0x102, 0x1ff0),
            (0x104, 0x2000),
        ];
        let log = arm(&[&steps[..], &[(0x200, 0x2000), (0x202, 0x2000)]].concat());
        let found = calls(log.as_bytes(), 0x100, &image(&[0; 4])).unwrap();
        assert_eq!(
            found,
            [Call {
                instructions: 3,
                stack: 16,
                masked: 0
            }]
        );
    }

    #[test]
    fn masked_instructions_are_counted() {
        for unmasks in [CPSIE, MSR_FIRST, MSR_LAST] {
            let log = arm(&[0x100, 0x102, 0x104, 0x106, 0x108, 0x200].map(|pc| (pc, 0x2000)));
            let image = image(&[0, CPSID, 0, unmasks, 0]);
            let found = calls(log.as_bytes(), 0x100, &image).unwrap();
            assert_eq!((found[0].instructions, found[0].masked), (5, 2));
        }
    }

    #[test]
    fn registers_of_risc_v_are_read() {
        let mut registers = Registers::default();
        registers.read(" mstatus  00001880");
        registers.read(" x0/zero  00000000 x1/ra    8000010a x2/sp    80fffff0 x3/gp    80000800");
        assert_eq!(
            (registers.sp, registers.return_to, registers.mstatus),
            (0x80ff_fff0, 0x8000_010a, Some(0x1880))
        );
    }
}
