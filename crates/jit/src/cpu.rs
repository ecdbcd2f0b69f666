//! Processors that machine code is made for.

use crate::JitError;

/// A processor that machine code is made for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cpu {
    /// LLVM's name.
    pub name: String,
    /// What it can do beyond what the name says, as LLVM writes it: `+avx2,-sse4a`.
    pub features: String,
    /// Bytes of a vector that it computes with at once.
    pub vector_bytes: usize,
}

/// The levels of x86-64, with the bytes of their vectors.
const LEVELS: [(&str, usize); 4] =
    [("x86-64", 16), ("x86-64-v2", 16), ("x86-64-v3", 32), ("x86-64-v4", 64)];

impl Cpu {
    /// A processor with a name and what it can do, such as the one that this runs on.
    pub(crate) fn with_features(name: String, features: String) -> Cpu {
        let mut cpu = Cpu { name, features, vector_bytes: 16 };
        if cpu.has("avx512f") && cpu.has("avx512dq") && cpu.has("avx512vl") {
            cpu.vector_bytes = 64;
        } else if cpu.has("avx2") {
            cpu.vector_bytes = 32;
        }
        cpu
    }

    /// Whether a feature stands in the list, by LLVM's name.
    pub fn has(&self, feature: &str) -> bool {
        self.features.split(',').any(|f| f.strip_prefix('+') == Some(feature))
    }

    /// Whatever processor has at least a level of x86-64, from `x86-64` (all of them) to `x86-64-v4` (AVX-512).
    ///
    /// # Errors
    /// No such level.
    pub fn level(name: &str) -> Result<Cpu, JitError> {
        let known = LEVELS.iter().find(|(level, _)| *level == name);
        let (name, vector_bytes) = known.ok_or_else(|| {
            let all = LEVELS.map(|(level, _)| level).join(", ");
            JitError::Unsupported(format!("the processor `{name}` (there are {all})"))
        })?;
        Ok(Cpu { name: (*name).to_string(), features: String::new(), vector_bytes: *vector_bytes })
    }
}
