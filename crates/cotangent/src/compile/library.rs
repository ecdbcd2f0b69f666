//! Compiled functions as files: a static library, a C header and Rust bindings, for programs that have neither LLVM nor
//! cotangent.

use std::fs;
use std::path::{Path, PathBuf};

use ar_archive_writer::{ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember};
use cotangent_ir as ir;
use cotangent_jit::{Cpu, Object, Options};

use super::recording::{Kind, in_numbers};
use super::{Compiled, bindings};
use crate::{Error, Real};

/// Functions that are compiled now and linked into another program.
///
/// In a build script, with [`cargo`](Library::cargo):
///
/// ```no_run
/// use cotangent::prelude::*;
/// use cotangent::{Library, compile};
///
/// fn main() -> Result<(), cotangent::Error> {
///     let f = function!(|x: &[S]| -> S { x[0].sin() * x[1] });
///     let f = compile(&f, 2)?;
///     Library::new("model")
///         .for_processor("x86-64-v3")?
///         .value("wave", &f)?
///         .gradient("wave_gradient", &f)?
///         .cargo()
/// }
/// ```
///
/// and in the program `include!(concat!(env!("OUT_DIR"), "/model.rs"));`, which has a function of each name. It needs LLVM
/// where it is built only. Objects are for x86-64 and ELF, such as on Linux.
#[derive(Clone, Debug)]
pub struct Library {
    name: String,
    cpu: Option<Cpu>,
    objects: Vec<Object>,
}

impl Library {
    /// A library without functions, for the processor that this runs on.
    pub fn new(name: impl Into<String>) -> Library {
        Library { name: name.into(), cpu: None, objects: Vec::new() }
    }

    /// For all processors of a level of x86-64 from now on: `x86-64`, `x86-64-v2`, `x86-64-v3` (AVX2) or `x86-64-v4`
    /// (AVX-512). A program for a higher level than a processor has stops there with an illegal instruction.
    ///
    /// # Errors
    /// No such level.
    pub fn for_processor(mut self, level: &str) -> Result<Library, Error> {
        self.cpu = Some(Cpu::level(level).map_err(failed)?);
        Ok(self)
    }

    /// Adds the values of a function.
    ///
    /// # Errors
    /// No LLVM, a name that is taken or that C does not take, and what machine code without cotangent is not made for.
    pub fn value<T: Real>(self, name: &str, f: &Compiled<T>) -> Result<Library, Error> {
        self.with(name, f, Kind::Value)
    }

    /// Adds the value and gradient of a function with one output.
    ///
    /// # Errors
    /// As [`value`](Library::value); several outputs.
    pub fn gradient<T: Real>(self, name: &str, f: &Compiled<T>) -> Result<Library, Error> {
        f.one_output()?;
        self.with(name, f, Kind::Gradient)
    }

    /// Adds values and Jacobian, in a block for each result and parameter of the program.
    ///
    /// # Errors
    /// As [`value`](Library::value).
    pub fn jacobian<T: Real>(self, name: &str, f: &Compiled<T>) -> Result<Library, Error> {
        self.with(name, f, Kind::Jacobian)
    }

    /// Adds value, gradient and Hessian of a function with one output.
    ///
    /// # Errors
    /// As [`gradient`](Library::gradient).
    pub fn hessian<T: Real>(self, name: &str, f: &Compiled<T>) -> Result<Library, Error> {
        f.one_output()?;
        self.with(name, f, Kind::Hessian)
    }

    /// Adds the values and the Jacobian times a vector, which follows the parameters.
    ///
    /// # Errors
    /// As [`value`](Library::value).
    pub fn pushforward<T: Real>(self, name: &str, f: &Compiled<T>) -> Result<Library, Error> {
        self.with(name, f, Kind::Pushforward)
    }

    /// Adds the values and the transposed Jacobian times a vector, which follows the parameters.
    ///
    /// # Errors
    /// As [`value`](Library::value).
    pub fn pullback<T: Real>(self, name: &str, f: &Compiled<T>) -> Result<Library, Error> {
        self.with(name, f, Kind::Pullback)
    }

    /// Adds value, gradient, their derivatives along a vector (the latter is the Hessian times it).
    ///
    /// # Errors
    /// As [`gradient`](Library::gradient).
    pub fn hvp<T: Real>(self, name: &str, f: &Compiled<T>) -> Result<Library, Error> {
        f.one_output()?;
        self.with(name, f, Kind::Hvp)
    }

    fn with<T: Real>(self, name: &str, f: &Compiled<T>, kind: Kind) -> Result<Library, Error> {
        self.program(name, &in_numbers::<T>(f.in_arrays(kind)?))
    }

    /// Adds a program of `cotangent-ir` as it is, whose dimensions are all known.
    ///
    /// # Errors
    /// As [`value`](Library::value); a program that is not well formed.
    pub fn program(mut self, name: &str, program: &ir::Function) -> Result<Library, Error> {
        if self.objects.iter().any(|known| known.name == name) {
            return Err(failed(format!("there are two functions named `{name}`")));
        }
        program.verify().map_err(failed)?;
        let object = Object::new(program, name, self.cpu.as_ref(), &Options::default());
        self.objects.push(object.map_err(failed)?);
        Ok(self)
    }

    /// The header for C and C++.
    pub fn header(&self) -> String {
        bindings::header(&self.name, &self.objects)
    }

    /// The bindings for Rust: a function for each, and the memory that they take.
    pub fn bindings(&self) -> String {
        bindings::rust(&self.objects)
    }

    /// Writes `libNAME.a`, `NAME.h` and `NAME.rs` into a folder and gives their paths.
    ///
    /// # Errors
    /// A folder that cannot be written to; no function.
    pub fn write(&self, folder: impl AsRef<Path>) -> Result<[PathBuf; 3], Error> {
        let folder = folder.as_ref();
        if self.objects.is_empty() {
            return Err(Error::Empty { what: "the library" });
        }
        let ok = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if self.name.is_empty() || !self.name.chars().all(ok) {
            return Err(failed(format!("a library named `{}`: letters, digits and _", self.name)));
        }
        let path = |name: String| folder.join(name);
        let paths = [
            path(format!("lib{}.a", self.name)),
            path(format!("{}.h", self.name)),
            path(format!("{}.rs", self.name)),
        ];
        let written = || -> std::io::Result<()> {
            fs::create_dir_all(folder)?;
            fs::write(&paths[0], self.archive()?)?;
            fs::write(&paths[1], self.header())?;
            fs::write(&paths[2], self.bindings())
        };
        written().map_err(|e| failed(format!("{} cannot be written: {e}", folder.display())))?;
        Ok(paths)
    }

    fn archive(&self) -> std::io::Result<Vec<u8>> {
        let members: Vec<NewArchiveMember<'_>> = self
            .objects
            .iter()
            .map(|object| {
                let name = format!("{}.o", object.name);
                NewArchiveMember::new(object.bytes.as_slice(), &DEFAULT_OBJECT_READER, name)
            })
            .collect();
        let mut archive = std::io::Cursor::new(Vec::new());
        let (kind, thin, is_ec) = (ArchiveKind::Gnu, false, None);
        ar_archive_writer::write_archive_to_stream(&mut archive, &members, kind, thin, is_ec)?;
        Ok(archive.into_inner())
    }

    /// Writes the files into `OUT_DIR` and tells cargo to link the library: the last line of a build script.
    ///
    /// # Errors
    /// As [`write`](Library::write); not in a build script; a target that objects are not made for.
    #[allow(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]
    pub fn cargo(&self) -> Result<(), Error> {
        let variable = |name: &str| {
            std::env::var(name).map_err(|_| failed(format!("{name} is not set: no build script")))
        };
        let (folder, target) = (variable("OUT_DIR")?, variable("TARGET")?);
        if !(target.starts_with("x86_64") && target.contains("linux")) {
            return Err(failed(format!("machine code ahead of time is not made for {target}")));
        }
        self.write(&folder)?;
        println!("cargo::rustc-link-search=native={folder}");
        println!("cargo::rustc-link-lib=static={}", self.name);
        println!("cargo::rerun-if-env-changed={}", cotangent_jit::VARIABLE);
        Ok(())
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn failed(why: impl ToString) -> Error {
    Error::Compiled(why.to_string())
}
