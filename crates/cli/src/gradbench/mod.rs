//! The tool of `GradBench`: its protocol on standard input and output, and its evaluations.
//!
//! Each evaluation is a function that is traced for one shape of its input, differentiated and optimised.
//! Nothing is differentiated by hand.

mod ba;
mod descent;
mod det;
pub(crate) mod gmm;
mod hello;
mod ht;
mod input;
mod kmeans;
mod llsq;
mod lse;
mod lstm;
mod ode;
mod particle;
mod saddle;
mod task;

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cotangent::Compiled;
use serde_json::{Value, json};

pub(crate) use task::Task;

/// What the command says of itself.
pub(crate) const HELP: &str = "\
The tool of GradBench: its protocol, JSON lines on standard input and output

One message a line, answered by one line with the same id:
  {\"id\":0,\"kind\":\"start\"}
  {\"id\":1,\"kind\":\"define\",\"module\":\"lse\"}
  {\"id\":2,\"kind\":\"evaluate\",\"module\":\"lse\",\"function\":\"gradient\",\"input\":{\"x\":[1,2,3]}}

Modules: hello, lse, llsq, det, ode, kmeans, gmm, ba, lstm, ht, particle, saddle. An input may have min_runs and
min_seconds. What cannot be answered has \"success\":false and an error.";

/// Makes the task of a function of a module from an input.
type Module = fn(&str, &Value) -> Result<Task, String>;

/// All modules.
const MODULES: [(&str, Module); 12] = [
    ("hello", hello::task),
    ("lse", lse::task),
    ("llsq", llsq::task),
    ("det", det::task),
    ("ode", ode::task),
    ("kmeans", kmeans::task),
    ("gmm", gmm::task),
    ("ba", ba::task),
    ("lstm", lstm::task),
    ("ht", ht::task),
    ("particle", particle::task),
    ("saddle", saddle::task),
];

/// Answers each line of a reader by a line, until there are no more.
///
/// # Errors
/// Input that cannot be read, output that cannot be written.
pub(crate) fn serve(reader: impl BufRead, mut writer: impl Write) -> std::io::Result<()> {
    let mut session = Session::default();
    for line in reader.split(b'\n') {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = session.answer(&line);
        serde_json::to_writer(&mut writer, &answer)?;
        writer.write_all(b"\n")?;
        writer.flush()?;
    }
    Ok(())
}

/// The task of a function of a module.
///
/// # Errors
/// What is not known, and an input that does not fit.
pub(crate) fn task(module: &str, function: &str, input: &Value) -> Result<Task, String> {
    match MODULES.iter().find(|(name, _)| *name == module) {
        Some((_, task)) => task(function, input),
        None => Err(format!("there is no module `{module}`")),
    }
}

/// What is kept from message to message: programs by module, function and shape.
#[derive(Default)]
struct Session {
    prepared: HashMap<String, Arc<[Compiled]>>,
}

impl Session {
    /// The answer to a line.
    fn answer(&mut self, line: &[u8]) -> Value {
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(e) => {
                let error = format!("this is no line of JSON: {e}");
                return json!({ "id": null, "success": false, "error": error });
            }
        };
        let id = message.get("id").cloned().unwrap_or(Value::Null);
        let text = |name: &str| message.get(name).and_then(Value::as_str);
        match text("kind") {
            Some("start") => json!({ "id": id, "tool": "cotangent" }),
            Some("define") => {
                let known = |module| MODULES.iter().any(|(name, _)| *name == module);
                json!({ "id": id, "success": text("module").is_some_and(known) })
            }
            Some("evaluate") => match self.evaluate(&message) {
                Ok((output, timings)) => {
                    json!({ "id": id, "success": true, "output": output, "timings": timings })
                }
                Err(error) => json!({ "id": id, "success": false, "error": error }),
            },
            Some(_) => json!({ "id": id }),
            None => {
                json!({ "id": id, "success": false, "error": "a message is an object with a `kind`" })
            }
        }
    }

    /// The output of an evaluation, and the timings.
    fn evaluate(&mut self, message: &Value) -> Result<(Value, Vec<Value>), String> {
        let text = |name: &str| {
            let found = message.get(name).and_then(Value::as_str);
            found.ok_or_else(|| format!("`{name}` is missing, or is no text"))
        };
        let (module, function) = (text("module")?, text("function")?);
        let input = message.get("input").ok_or("`input` is missing")?;
        let (runs, seconds) = repetitions(input)?;
        let task = task(module, function, input)?;
        let start = Instant::now();
        let programs = self.prepared(module, function, &task)?;
        let mut timings = vec![timing("prepare", start.elapsed())];
        let (mut total, mut outputs) = (Duration::ZERO, Vec::new());
        let mut run = 0;
        while run < runs || total.as_secs_f64() < seconds {
            let start = Instant::now();
            (task.run)(&programs, &mut outputs)?;
            let time = start.elapsed();
            timings.push(timing("evaluate", time));
            total += time;
            run += 1;
        }
        if let Some(x) = outputs.iter().find(|x| !x.is_finite()) {
            return Err(format!("the output has {x}, for which JSON has no number"));
        }
        Ok(((task.answer)(&outputs), timings))
    }

    fn prepared(
        &mut self,
        module: &str,
        function: &str,
        task: &Task,
    ) -> Result<Arc<[Compiled]>, String> {
        let key = format!("{module} {function} {}", task.shape);
        if let Some(programs) = self.prepared.get(&key) {
            return Ok(programs.clone());
        }
        let programs: Arc<[Compiled]> = (task.prepare)()?.into();
        self.prepared.insert(key, programs.clone());
        Ok(programs)
    }
}

/// How often an evaluation is run at least, and for how many seconds.
fn repetitions(input: &Value) -> Result<(u64, f64), String> {
    let runs = match input.get("min_runs") {
        None => 1,
        Some(runs) => runs.as_u64().ok_or("`min_runs` must be a whole number")?.max(1),
    };
    let seconds = match input.get("min_seconds") {
        None => 0.0,
        Some(seconds) => seconds.as_f64().ok_or("`min_seconds` must be a number")?,
    };
    Ok((runs, seconds))
}

fn timing(name: &str, time: Duration) -> Value {
    let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    json!({ "name": name, "nanoseconds": nanoseconds })
}
