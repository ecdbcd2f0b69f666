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

    /// With what is known of how fast it does things, for a version of LLVM that takes the advice.
    ///
    /// On Zen 4 a gather of eight doubles takes twelve cycles, their loads one by one seven: the residuals of 10⁶ observations took 14.0 ms
    /// instead of 18.5, their Jacobian 37 instead of 41. (Scatters lane by lane made no difference.)
    pub(crate) fn tuned(mut self, version: u32) -> Cpu {
        if self.name == "znver4" && version >= 18 {
            self.features.push_str(",+prefer-no-gather");
        }
        self
    }

    /// Whether a feature stands in the list, by LLVM's name.
    pub fn has(&self, feature: &str) -> bool {
        self.features.split(',').any(|f| f.strip_prefix('+') == Some(feature))
    }

    /// A level of x86-64 that this processor has.
    ///
    /// # Errors
    /// No such level, or one that this processor has not.
    pub(crate) fn at_most(&self, name: &str) -> Result<Cpu, JitError> {
        let level = Cpu::level(name)?;
        let needed: &[&str] = match name {
            "x86-64-v2" => &["sse4.2", "popcnt"],
            "x86-64-v3" => &["avx2", "fma", "bmi", "bmi2", "lzcnt", "movbe", "f16c"],
            "x86-64-v4" => &["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"],
            _ => &[],
        };
        match needed.iter().find(|feature| !self.has(feature)) {
            None => {
                let features: Vec<String> = needed.iter().map(|name| format!("+{name}")).collect();
                Ok(Cpu { features: features.join(","), ..level })
            }
            Some(feature) => Err(JitError::Unsupported(format!(
                "{name} on this processor ({}), which has no {feature}",
                self.name
            ))),
        }
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

#[cfg(test)]
mod tests {
    use super::Cpu;

    #[test]
    fn a_level_must_be_one_that_the_processor_has() {
        let host = Cpu::with_features("some".into(), "+sse4.2,+popcnt,-avx2".into());
        assert_eq!(host.vector_bytes, 16);
        assert_eq!(host.at_most("x86-64-v2").map(|cpu| cpu.vector_bytes), Ok(16));
        let error = host.at_most("x86-64-v3").unwrap_err().to_string();
        assert!(error.contains("avx2") && error.contains("some"), "{error}");
        let error = host.at_most("z80").unwrap_err().to_string();
        assert!(error.contains("x86-64-v4"), "{error}");
    }
}
