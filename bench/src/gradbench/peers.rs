//! The same evaluations in JAX and PyTorch (`bench/peers/gradbench.py`): compared with ours, then timed in turns with it.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::SUITE;
use crate::harness::Bench;
use crate::python::Script;

/// The modules that both have.
const MODULES: [&str; 9] = ["lse", "llsq", "det", "ode", "kmeans", "gmm", "ba", "lstm", "ht"];
const LIBRARIES: [&str; 2] = ["jax", "torch"];
/// How often ours and theirs are measured, in turns: a slow phase of the machine then hits both.
const ROUNDS: usize = 2;
/// For how long a peer is measured in a round, in seconds.
const SECONDS: f64 = 0.3;

/// The peers, as long as they answer.
pub(super) struct Peers {
    script: Option<Script>,
    /// The case whose input the script has.
    given: String,
}

impl Peers {
    /// Starts them, or says why not.
    pub(super) fn start(bench: &Bench) -> Peers {
        let script = Script::start("gradbench.py", &[]);
        let script = script.map_err(|why| bench.note(&why)).ok();
        Peers { script, given: String::new() }
    }

    /// Measures them beside ours, which gives `found`.
    pub(super) fn compare(
        &mut self,
        bench: &mut Bench,
        case: (&str, &str, &Value),
        function: &str,
        found: &[f64],
        mut ours: impl FnMut(),
    ) {
        let (module, label, input) = case;
        if self.script.is_none() || !MODULES.contains(&module) {
            return;
        }
        let name = format!("{module} {label} {function}");
        let given = format!("{module} {label}");
        if self.given != given {
            let asked = self.ask(&json!({ "module": module, "input": input }));
            if let Err(why) = asked {
                return bench.note(&format!("{name}: {why}"));
            }
            self.given = given;
        }
        for library in LIBRARIES {
            bench.working_on(&format!("{name} {library}"));
            match self.one(bench, library, function, found, &mut ours) {
                Ok((library, ours, theirs)) => {
                    bench.record(SUITE, &name, 1, "ns", ours, theirs, library, None);
                }
                Err(why) => bench.note(&format!("{name}, {library}: {why}")),
            }
        }
    }

    /// The name of a library, our time and its own.
    fn one(
        &mut self,
        bench: &Bench,
        library: &str,
        function: &str,
        found: &[f64],
        mut ours: impl FnMut(),
    ) -> Result<(String, f64, f64), String> {
        let file = Numbers::new();
        let answer = self.ask(&json!({
            "library": library, "function": function, "output": file.0,
        }))?;
        let name = answer["library"].as_str().ok_or("it has no name")?.to_string();
        agrees(found, &file.read()?)?;
        let (mut best, mut least) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            let answer = self.ask(&json!({ "seconds": SECONDS }))?;
            least = least.min(answer["nanoseconds"].as_f64().ok_or("it has no time")?);
            best = best.min(bench.time(&mut ours));
        }
        Ok((name, best, least))
    }

    fn ask(&mut self, question: &Value) -> Result<Value, String> {
        let script = self.script.as_mut().ok_or("the peers have ended")?;
        let answer = script.ask(question).and_then(|()| script.answer());
        match answer {
            Ok(answer) => match answer["error"].as_str() {
                Some(why) => Err(why.to_string()),
                None => Ok(answer),
            },
            Err(why) => {
                // Killed, perhaps for its memory; the others go on.
                self.script = None;
                Err(why)
            }
        }
    }
}

fn agrees(ours: &[f64], theirs: &[f64]) -> Result<(), String> {
    if ours.len() != theirs.len() {
        return Err(format!("it gives {} numbers, ours are {}", theirs.len(), ours.len()));
    }
    let largest = ours.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-6 * (a.abs() + 1e-6 * largest);
    match ours.iter().zip(theirs).position(|(a, b)| !near(*a, *b)) {
        Some(k) => Err(format!("WRONG: number {k} is {}, ours is {}", theirs[k], ours[k])),
        None => Ok(()),
    }
}

/// A file of doubles that the script writes, removed when it is dropped.
struct Numbers(PathBuf);

impl Numbers {
    fn new() -> Numbers {
        let name = format!("gradbench-{}.doubles", std::process::id());
        Numbers(std::env::temp_dir().join(name))
    }

    fn read(&self) -> Result<Vec<f64>, String> {
        let bytes = fs::read(&self.0).map_err(|e| format!("no numbers were written: {e}"))?;
        let (numbers, _) = bytes.as_chunks::<8>();
        Ok(numbers.iter().map(|number| f64::from_ne_bytes(*number)).collect())
    }
}

impl Drop for Numbers {
    fn drop(&mut self) {
        // A file that stays behind in the temporary folder does no harm.
        let _ = fs::remove_file(&self.0);
    }
}
