//! Peers in Python: a process that answers lines of JSON by lines of JSON.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/.local/python/bin/python");
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");

/// A script of `bench/peers` that runs, and ends when this is dropped.
pub struct Script {
    child: Child,
    /// None once it is to end.
    questions: Option<BufWriter<ChildStdin>>,
    answers: BufReader<ChildStdout>,
}

impl Script {
    /// Starts a script in an environment with some more.
    ///
    /// # Errors
    /// The peers are not set up, or there is no such script.
    pub fn start(name: &str, environment: &[(&str, &str)]) -> Result<Script, String> {
        if !Path::new(PYTHON).exists() {
            return Err("Python's libraries are not set up and were skipped; \
                        `bench/peers/setup python` does it"
                .to_string());
        }
        let mut child = Command::new(PYTHON)
            .arg(Path::new(FOLDER).join(name))
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{name} does not start: {e}"))?;
        let questions = child.stdin.take().ok_or("it has no input")?;
        let answers = child.stdout.take().ok_or("it has no output")?;
        Ok(Script {
            child,
            questions: Some(BufWriter::new(questions)),
            answers: BufReader::new(answers),
        })
    }

    /// Writes a line.
    ///
    /// # Errors
    /// The script has ended.
    pub fn ask(&mut self, question: &Value) -> Result<(), String> {
        let failed = |e: std::io::Error| format!("the script takes no more questions: {e}");
        let questions = self.questions.as_mut().ok_or("the script is to end")?;
        writeln!(questions, "{question}").and_then(|()| questions.flush()).map_err(failed)
    }

    /// Reads a line.
    ///
    /// # Errors
    /// The script has ended, or writes something else.
    pub fn answer(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Ok(0) => Err("the script has ended".to_string()),
            Ok(_) => serde_json::from_str(&line).map_err(|e| format!("not an answer: {e}: {line}")),
            Err(e) => Err(format!("the script gives no answer: {e}")),
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // The end of its input is the end of the script.
        self.questions = None;
        let _ = self.child.wait();
    }
}
