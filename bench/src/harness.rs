//! Measuring, comparing, reporting.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use comfy_table::{Table, presets::UTF8_FULL_CONDENSED};
use indicatif::{ProgressBar, ProgressStyle};

/// One way to do the work of a case.
pub struct Contender<'a> {
    name: String,
    run: Box<dyn FnMut() + 'a>,
}

/// A contender that runs `f`; what it returns is kept from being optimised away.
pub fn contender<'a, R: 'a>(
    name: impl Into<String>,
    mut f: impl FnMut() -> R + 'a,
) -> Contender<'a> {
    Contender {
        name: name.into(),
        run: Box::new(move || {
            black_box(f());
        }),
    }
}

/// A comparison that was measured.
#[derive(Debug)]
struct Row {
    suite: &'static str,
    case: String,
    size: usize,
    metric: &'static str,
    ours: f64,
    reference: f64,
    reference_name: String,
    target: Option<f64>,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.ours / self.reference
    }

    fn ok(&self) -> bool {
        self.target.is_none_or(|t| self.ratio() <= t)
    }

    fn json(&self) -> String {
        serde_json::json!({
            "suite": self.suite,
            "case": self.case,
            "size": self.size,
            "metric": self.metric,
            "ours": self.ours,
            "reference": self.reference,
            "reference_name": self.reference_name,
            "ratio": self.ratio(),
            "target": self.target,
            "ok": self.ok(),
        })
        .to_string()
    }
}

/// A benchmark run.
pub struct Bench {
    filter: String,
    json: bool,
    time: Duration,
    rows: Vec<Row>,
    progress: ProgressBar,
}

impl Bench {
    pub fn new(filter: &str, json: bool, milliseconds: u64) -> Bench {
        let progress = ProgressBar::new_spinner();
        progress
            .set_style(ProgressStyle::with_template("{spinner} {msg}").expect("a valid template"));
        Bench {
            filter: filter.to_string(),
            json,
            time: Duration::from_millis(milliseconds),
            rows: Vec::new(),
            progress,
        }
    }

    /// Whether a case was asked for.
    pub fn wants(&self, case: &str) -> bool {
        case.contains(&self.filter)
    }

    /// Shows what is being measured.
    pub fn working_on(&self, what: &str) {
        self.progress.set_message(what.to_string());
        self.progress.tick();
    }

    /// Prints a line beside the results: what was skipped, and why.
    pub fn note(&self, text: &str) {
        self.progress.suspend(|| eprintln!("{text}"));
    }

    /// Measures ours and the references in turns and compares; a target belongs to the reference
    /// beside it.
    pub fn compare(
        &mut self,
        suite: &'static str,
        case: &str,
        size: usize,
        ours: Contender<'_>,
        references: Vec<(Contender<'_>, Option<f64>)>,
    ) {
        if !self.wants(case) {
            return;
        }
        self.working_on(&format!("{case} {size}"));
        let (references, targets): (Vec<_>, Vec<_>) = references.into_iter().unzip();
        let names: Vec<String> = references.iter().map(|c| c.name.clone()).collect();
        let mut all = vec![ours];
        all.extend(references);
        let times = measure(&mut all, self.time);
        for ((name, target), time) in names.into_iter().zip(targets).zip(&times[1..]) {
            self.record(suite, case, size, "ns", times[0], *time, name, target);
        }
    }

    /// Records a comparison of numbers measured otherwise.
    #[allow(clippy::too_many_arguments, reason = "a row has these columns")]
    pub fn record(
        &mut self,
        suite: &'static str,
        case: &str,
        size: usize,
        metric: &'static str,
        ours: f64,
        reference: f64,
        reference_name: impl Into<String>,
        target: Option<f64>,
    ) {
        let reference_name = reference_name.into();
        let row = Row {
            suite,
            case: case.to_string(),
            size,
            metric,
            ours,
            reference,
            reference_name,
            target,
        };
        if self.json {
            println!("{}", row.json());
        }
        self.rows.push(row);
    }

    /// The time a contender takes, at best, in nanoseconds.
    pub fn time<R>(&self, f: impl FnMut() -> R) -> f64 {
        measure(&mut [contender("", f)], self.time)[0]
    }

    /// Prints the table and tells whether all targets were met.
    pub fn finish(self) -> ExitCode {
        self.progress.finish_and_clear();
        if !self.json {
            let mut table = Table::new();
            table.load_style(UTF8_FULL_CONDENSED);
            table.set_header([
                "case",
                "size",
                "metric",
                "ours",
                "reference",
                "",
                "ratio",
                "target",
                "",
            ]);
            for row in &self.rows {
                table.add_row([
                    row.case.clone(),
                    row.size.to_string(),
                    row.metric.to_string(),
                    short(row.ours),
                    row.reference_name.clone(),
                    short(row.reference),
                    format!("{:.2}", row.ratio()),
                    row.target.map_or(String::new(), |t| format!("≤ {t:.2}")),
                    match row.target {
                        None => String::new(),
                        Some(_) if row.ok() => "ok".to_string(),
                        Some(_) => "MISSED".to_string(),
                    },
                ]);
            }
            println!("{table}");
        }
        let missed = self.rows.iter().filter(|r| !r.ok()).count();
        if missed > 0 {
            eprintln!(
                "{missed} of {} targets missed",
                self.rows.iter().filter(|r| r.target.is_some()).count()
            );
            return ExitCode::from(1);
        }
        ExitCode::SUCCESS
    }
}

fn short(x: f64) -> String {
    match x {
        x if x < 1e3 => format!("{x:.1}"),
        x if x < 1e6 => format!("{:.2} k", x / 1e3),
        x => format!("{:.2} M", x / 1e6),
    }
}

/// The least time of each contender, in nanoseconds a run, measured in turns: a slow phase of the
/// machine then hits all of them.
fn measure(contenders: &mut [Contender<'_>], time: Duration) -> Vec<f64> {
    // Batches of about 0.2 ms are long for the clock and short for a scheduler slice.
    let repeats: Vec<u64> = contenders
        .iter_mut()
        .map(|c| {
            let mut repeats = 1;
            loop {
                let start = Instant::now();
                for _ in 0..repeats {
                    (c.run)();
                }
                if start.elapsed() > Duration::from_micros(200) || repeats > 1 << 20 {
                    return repeats;
                }
                repeats *= 2;
            }
        })
        .collect();
    let mut best = vec![f64::INFINITY; contenders.len()];
    let mut spent = vec![Duration::ZERO; contenders.len()];
    let mut rounds = 0;
    while rounds < 10 || (spent.iter().any(|s| *s < time) && rounds < 4000) {
        rounds += 1;
        for (i, c) in contenders.iter_mut().enumerate() {
            if spent[i] > 4 * time && rounds > 3 {
                continue;
            }
            let start = Instant::now();
            for _ in 0..repeats[i] {
                (c.run)();
            }
            let elapsed = start.elapsed();
            spent[i] += elapsed;
            best[i] = best[i].min(elapsed.as_secs_f64() * 1e9 / repeats[i] as f64);
        }
    }
    best
}
