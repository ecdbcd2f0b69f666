//! Object files of LLVM, brought into memory that can be run.
//!
//! All code calls only itself and a few functions that are named here, so an object needs no linker: sections are
//! laid out one after the other, and the handful of relocations that LLVM writes for x86-64 are applied.

use memmap2::{Mmap, MmapMut};
use object::elf;
use object::read::elf::{ElfFile64, FileHeader};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind, SymbolSection,
};
use rustc_hash::FxHashMap;

use crate::JitError;

/// Code that can be run, as long as this is there.
#[derive(Debug)]
pub(crate) struct Loaded {
    memory: Mmap,
    symbols: FxHashMap<String, usize>,
}

fn fault(why: impl Into<String>) -> JitError {
    JitError::Object { why: why.into() }
}

/// Bytes of a jump to an address anywhere: the jump through the eight bytes behind it.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
const STUB: usize = JUMP.len() + 8;

impl Loaded {
    /// Lays out objects, which may call each other; `outside` gives the addresses of functions that none of them has.
    pub(crate) fn new(
        objects: &[Vec<u8>],
        outside: impl Fn(&str) -> Option<usize>,
    ) -> Result<Loaded, JitError> {
        let mut files = Vec::with_capacity(objects.len());
        let mut size = 0;
        for bytes in objects {
            files.push(Placed::new(bytes, &mut size)?);
        }
        let mut symbols = FxHashMap::default();
        for file in &files {
            file.symbols(&mut symbols)?;
        }
        // Behind them: jumps to functions outside, eight bytes of address each for those that want the address.
        let mut stubs: FxHashMap<String, usize> = FxHashMap::default();
        size = size.next_multiple_of(16);
        for symbol in files.iter().flat_map(|f| f.file.symbols().filter(ObjectSymbol::is_undefined))
        {
            let name = symbol.name().map_err(|e| fault(e.to_string()))?;
            if !name.is_empty() && !symbols.contains_key(name) && !stubs.contains_key(name) {
                stubs.insert(name.to_string(), size);
                size += STUB.next_multiple_of(16);
            }
        }
        let mut memory = MmapMut::map_anon(size.max(1)).map_err(|e| fault(e.to_string()))?;
        for (name, place) in &stubs {
            let address = outside(name)
                .ok_or_else(|| fault(format!("it calls {name}, which is not there")))?;
            memory[*place..*place + JUMP.len()].copy_from_slice(&JUMP);
            memory[*place + JUMP.len()..*place + STUB]
                .copy_from_slice(&(address as u64).to_le_bytes());
        }
        for file in &files {
            file.copy(&mut memory)?;
            file.relocate(&mut memory, &symbols, &stubs)?;
        }
        let memory = memory.make_exec().map_err(|e| fault(e.to_string()))?;
        Ok(Loaded { memory, symbols })
    }

    /// The address of a function.
    pub(crate) fn symbol(&self, name: &str) -> Option<*const u8> {
        let place = *self.symbols.get(name)?;
        self.memory.get(place..).map(<[u8]>::as_ptr)
    }

    /// Bytes of code and constants.
    pub(crate) fn len(&self) -> usize {
        self.memory.len()
    }
}

/// An object, and where its sections go.
struct Placed<'b> {
    file: ElfFile64<'b, Endianness>,
    places: FxHashMap<usize, usize>,
}

impl<'b> Placed<'b> {
    /// Gives the sections of an object places from `size` on.
    fn new(bytes: &'b [u8], size: &mut usize) -> Result<Placed<'b>, JitError> {
        let file: ElfFile64<'_, Endianness> =
            ElfFile64::parse(bytes).map_err(|e| fault(e.to_string()))?;
        let header = file.elf_header();
        let endian = file.endian();
        if header.e_machine(endian) != elf::EM_X86_64 || header.e_type(endian) != elf::ET_REL {
            return Err(fault("it is no object for x86-64"));
        }
        let mut places: FxHashMap<usize, usize> = FxHashMap::default();
        for section in file.sections() {
            let kept = matches!(
                section.kind(),
                SectionKind::Text
                    | SectionKind::ReadOnlyData
                    | SectionKind::ReadOnlyString
                    | SectionKind::ReadOnlyDataWithRel
            ) && section.name() != Ok(".eh_frame");
            if matches!(section.kind(), SectionKind::Data | SectionKind::UninitializedData)
                && section.size() > 0
            {
                return Err(fault("it has data that changes"));
            }
            if !kept {
                continue;
            }
            let align = (section.align() as usize).max(1);
            *size = size.next_multiple_of(align);
            places.insert(section.index().0, *size);
            let len =
                usize::try_from(section.size()).map_err(|_| fault("a section is too large"))?;
            *size = size.checked_add(len).ok_or_else(|| fault("it is too large"))?;
        }
        Ok(Placed { file, places })
    }

    /// Adds the functions that others may call.
    fn symbols(&self, known: &mut FxHashMap<String, usize>) -> Result<(), JitError> {
        for symbol in self.file.symbols().filter(ObjectSymbol::is_global) {
            if let (SymbolSection::Section(section), Ok(name)) = (symbol.section(), symbol.name())
                && let Some(place) = self.places.get(&section.0)
                && known.insert(name.to_string(), place + symbol.address() as usize).is_some()
            {
                return Err(fault(format!("{name} is there twice")));
            }
        }
        Ok(())
    }

    fn copy(&self, memory: &mut [u8]) -> Result<(), JitError> {
        for section in self.file.sections() {
            if let Some(place) = self.places.get(&section.index().0) {
                let data = section.data().map_err(|e| fault(e.to_string()))?;
                memory[*place..*place + data.len()].copy_from_slice(data);
            }
        }
        Ok(())
    }

    fn relocate(
        &self,
        memory: &mut [u8],
        symbols: &FxHashMap<String, usize>,
        stubs: &FxHashMap<String, usize>,
    ) -> Result<(), JitError> {
        let base = memory.as_ptr() as usize;
        let sections = self.file.sections();
        let kept = sections.filter_map(|s| Some((*self.places.get(&s.index().0)?, s)));
        for (place, section) in kept {
            for (offset, relocation) in section.relocations() {
                let at = place + offset as usize;
                let object::RelocationFlags::Elf { r_type } = relocation.flags() else {
                    return Err(fault("a relocation of another format"));
                };
                let RelocationTarget::Symbol(index) = relocation.target() else {
                    return Err(fault("a relocation without a symbol"));
                };
                let symbol = self.file.symbol_by_index(index).map_err(|e| fault(e.to_string()))?;
                let name = symbol.name().unwrap_or_default();
                let (target, outer) = match symbol.section() {
                    SymbolSection::Section(section) => {
                        let place = self
                            .places
                            .get(&section.0)
                            .ok_or_else(|| fault("a symbol in no section that is kept"))?;
                        (place + symbol.address() as usize, false)
                    }
                    _ => match symbols.get(name) {
                        Some(place) => (*place, false),
                        None => {
                            let stub = stubs.get(name);
                            (*stub.ok_or_else(|| fault(format!("{name} is nowhere")))?, true)
                        }
                    },
                };
                let from_here = |target: usize| -> Result<[u8; 4], JitError> {
                    let distance = target as i64 + relocation.addend() - at as i64;
                    i32::try_from(distance)
                        .map(i32::to_le_bytes)
                        .map_err(|_| fault("it is too large"))
                };
                let write = match r_type {
                    elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => from_here(target)?.to_vec(),
                    // The address stands behind the jump of the stub.
                    elf::R_X86_64_GOTPCREL
                    | elf::R_X86_64_GOTPCRELX
                    | elf::R_X86_64_REX_GOTPCRELX
                        if outer =>
                    {
                        from_here(target + JUMP.len())?.to_vec()
                    }
                    elf::R_X86_64_64 => {
                        ((base + target) as i64 + relocation.addend()).to_le_bytes().to_vec()
                    }
                    elf::R_X86_64_PC64 => {
                        (target as i64 + relocation.addend() - at as i64).to_le_bytes().to_vec()
                    }
                    other => {
                        return Err(fault(format!("relocation {other} of {name} is not known")));
                    }
                };
                memory
                    .get_mut(at..at + write.len())
                    .ok_or_else(|| fault("a relocation outside its section"))?
                    .copy_from_slice(&write);
            }
        }
        Ok(())
    }
}
