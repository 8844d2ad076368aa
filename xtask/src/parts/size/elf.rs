//! A linked image: what it takes of flash and RAM, and which functions it holds.

use std::fs;
use std::path::Path;

use crate::helpers::files;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind, SymbolKind};

/// What is read of an image.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elf {
    /// Bytes of code, constants and what initialises variables.
    pub(crate) flash: u64,
    /// Bytes of variables in RAM.
    pub(crate) ram: u64,
    pub(crate) functions: Vec<Function>,
    /// Addresses and contents of code and constants.
    pub(crate) contents: Vec<(u64, Vec<u8>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Without the compiler's hash; those of C and of the compiler's own library as they are.
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

/// `riscv-rt` gives them all RAM that is left.
const LEFT_OVER: [&str; 2] = [".heap", ".stack"];

impl Elf {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let bytes = fs::read(path).map_err(files::of(path))?;
        Self::parse(&bytes).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn parse(bytes: &[u8]) -> object::Result<Self> {
        let file = object::File::parse(bytes)?;
        let mut elf = Self::default();
        for section in file.sections() {
            let left_over = section.name().is_ok_and(|name| LEFT_OVER.contains(&name));
            match section.kind() {
                _ if left_over => {}
                SectionKind::Text | SectionKind::ReadOnlyData => {
                    elf.flash += section.size();
                    elf.contents
                        .push((section.address(), section.data()?.to_vec()));
                }
                SectionKind::Data => {
                    elf.flash += section.size();
                    elf.ram += section.size();
                }
                SectionKind::UninitializedData => elf.ram += section.size(),
                _ => {}
            }
        }
        for symbol in file.symbols() {
            if symbol.kind() == SymbolKind::Text && symbol.is_definition() {
                elf.functions.push(Function {
                    name: format!("{:#}", rustc_demangle::demangle(symbol.name()?)),
                    // The lowest bit says that the code is Thumb's.
                    address: symbol.address() & !1,
                    bytes: symbol.size(),
                });
            }
        }
        Ok(elf)
    }

    pub(crate) fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// Where instructions are, as ranges of the emulator (`start..last`), but those of some
    /// functions.
    pub(crate) fn code_without(&self, left_out: impl Fn(&str) -> bool) -> String {
        let mut out: Vec<&Function> = self
            .functions
            .iter()
            .filter(|function: &&Function| function.bytes > 0 && left_out(&function.name))
            .collect();
        out.sort_by_key(|function| function.address);
        let mut ranges = Vec::new();
        let mut from = 0;
        for function in out {
            if function.address > from {
                ranges.push(format!("{from:#x}..{:#x}", function.address - 1));
            }
            from = function.address + function.bytes;
        }
        ranges.push(format!("{from:#x}..0xffffffff"));
        ranges.join(",")
    }

    /// The 16 bits that begin an instruction.
    pub(crate) fn halfword(&self, address: u64) -> Option<u16> {
        self.contents.iter().find_map(|(start, bytes)| {
            let offset = usize::try_from(address.checked_sub(*start)?).ok()?;
            let bytes = bytes.get(offset..)?.first_chunk()?;
            Some(u16::from_le_bytes(*bytes))
        })
    }

    pub(crate) fn contains(&self, text: &str) -> bool {
        let has = |bytes: &[u8]| {
            bytes
                .windows(text.len())
                .any(|window| window == text.as_bytes())
        };
        self.contents.iter().any(|(_, bytes)| has(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_leave_functions_out() {
        let function = |name: &str, address| Function {
            name: name.to_owned(),
            address,
            bytes: 0x10,
        };
        let elf = Elf {
            functions: vec![
                function("b", 0x120),
                function("other", 0x110),
                function("a", 0x100),
            ],
            ..Elf::default()
        };
        let ranges = elf.code_without(|name| name != "other");
        assert_eq!(ranges, "0x0..0xff,0x110..0x11f,0x130..0xffffffff");
    }
}
