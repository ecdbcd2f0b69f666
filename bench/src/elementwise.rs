//! Elementary functions over long arrays, beside numpy, PyTorch and JAX: one thread each, into memory that is there.
//!
//! Ours is a program that maps an array, as machine code; beside it stands the loop of `cotangent_math`. The peers are
//! timed by `peers/elementwise.py`, in turns with ours.
//!
//! All arrays lie in large pages, as numpy's do by itself: with pages of 4 KiB what is bound by memory takes 1.3 times as
//! long, and who has which would be all that is measured.

use std::hint::black_box;

use cotangent::jit::{Compiled, Number, Options};
use cotangent_ir::{Function, parse, trace_arrays};
use cotangent_math::{Binary, Level, Unary, apply_at, apply2_at};
use serde_json::json;

use crate::harness::Bench;
use crate::python::Script;

const SUITE: &str = "elementwise";
const SIZE: usize = 10_000_000;
/// How often ours and the peers are measured, in turns: a slow phase of the machine then hits all.
const ROUNDS: usize = 4;
/// Runs of each peer in a round.
const REPEATS: usize = 8;
/// How many results are compared.
const SAMPLES: usize = 64;
/// Odd multipliers of 32 bits, one an argument: the places are spread evenly and in no order.
const MULTIPLIERS: [u64; 2] = [2_654_435_761, 2_246_822_519];

/// A function, and where its arguments lie; `peers/elementwise.py` has the same.
struct Case {
    name: &'static str,
    ranges: &'static [(f64, f64)],
    loops: Loops,
}

/// The loop of `cotangent_math`.
#[derive(Clone, Copy)]
enum Loops {
    One(Unary),
    Two(Binary),
}

const CASES: [Case; 5] = [
    Case { name: "exp", ranges: &[(-10.0, 10.0)], loops: Loops::One(Unary::Exp) },
    Case { name: "sin", ranges: &[(-10.0, 10.0)], loops: Loops::One(Unary::Sin) },
    Case { name: "tanh", ranges: &[(-4.0, 4.0)], loops: Loops::One(Unary::Tanh) },
    Case { name: "ln", ranges: &[(0.01, 100.0)], loops: Loops::One(Unary::Ln) },
    Case { name: "pow", ranges: &[(0.1, 10.0), (-3.0, 3.0)], loops: Loops::Two(Binary::Pow) },
];

/// Runs all cases of the suite.
pub fn run(bench: &mut Bench) {
    if let Err(why) = cotangent::machine() {
        bench.note(&format!("skipped: {why}"));
        return;
    }
    // One thread, as the peers.
    if rayon::ThreadPoolBuilder::new().num_threads(1).build_global().is_err() {
        bench.note("skipped: there are no threads");
        return;
    }
    let mut script =
        match Script::start("elementwise.py", &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")]) {
            Ok(script) => Some(script),
            Err(why) => {
                bench.note(&why);
                None
            }
        };
    for case in &CASES {
        one::<f64>(bench, &mut script, case, "f64");
        one::<f32>(bench, &mut script, case, "f32");
    }
}

/// The function over arrays of doubles.
fn program(case: &Case) -> Function {
    let shapes: &[&[usize]] = &[&[SIZE], &[SIZE]];
    trace_arrays(case.name, &shapes[..case.ranges.len()], |x| match case.name {
        "exp" => x[0].exp(),
        "sin" => x[0].sin(),
        "tanh" => x[0].tanh(),
        "ln" => x[0].ln(),
        _ => x[0].powf(x[1]),
    })
    .expect("no branches")
}

fn arguments<T: Number>(case: &Case) -> Vec<Vec<T>> {
    let list = |((low, high), multiplier): (&(f64, f64), u64)| {
        let place = |i: usize| (i as u64 * multiplier % (1 << 32)) as f64 / 2.0_f64.powi(32);
        in_large_pages((0..SIZE).map(|i| T::nearest(low + (high - low) * place(i))))
    };
    case.ranges.iter().zip(MULTIPLIERS).map(list).collect()
}

/// A list whose memory is asked to be in large pages before anything is written there.
fn in_large_pages<T>(numbers: impl ExactSizeIterator<Item = T>) -> Vec<T> {
    let mut list: Vec<T> = Vec::with_capacity(numbers.len());
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let (start, bytes) = (list.as_ptr() as usize, numbers.len() * size_of::<T>());
        let (first, last) = (start.next_multiple_of(PAGE), (start + bytes) / PAGE * PAGE);
        if first < last {
            // SAFETY: whole pages that the list owns; the advice changes nothing that is in them. If it is not taken, pages
            // are small.
            unsafe { libc::madvise(first as *mut _, last - first, libc::MADV_HUGEPAGE) };
        }
    }
    list.extend(numbers);
    list
}

fn one<T: Number + cotangent_math::Number>(
    bench: &mut Bench,
    script: &mut Option<Script>,
    case: &Case,
    kind: &'static str,
) {
    let name = format!("{} {kind}", case.name);
    if !bench.wants(&name) {
        return;
    }
    bench.working_on(&name);
    // A trace is of doubles; its text is of either.
    let text = program(case).to_string().replace("f64", kind);
    let function = parse(&text).expect("what is printed is read");
    let compiled = Compiled::new(&function, &Options::default()).expect("it compiles");
    let mut workspace = compiled.workspace();
    let x = arguments::<T>(case);
    let inputs: Vec<&[T]> = x.iter().map(|x| &x[..]).collect();
    let mut out = in_large_pages((0..SIZE).map(|_| T::nearest(0.0)));
    let (mut ours, mut looped) = (f64::INFINITY, f64::INFINITY);
    let mut peers: Vec<(String, f64)> = Vec::new();
    for _ in 0..ROUNDS {
        let mut run = || {
            let found = compiled.run_slices(black_box(&inputs), &mut [&mut out], &mut workspace);
            found.expect("it runs");
        };
        ours = ours.min(bench.time(&mut run));
        if let Some(asked) = script {
            match ask(asked, case.name, kind, &out, &mut peers) {
                Ok(()) => {}
                Err(why) => {
                    bench.note(&format!("{name}: {why}"));
                    *script = None;
                }
            }
        }
        let run = || match case.loops {
            Loops::One(f) => apply_at(Level::best(), f, black_box(&x[0]), &mut out),
            Loops::Two(f) => apply2_at(Level::best(), f, black_box(&x[0]), &x[1], &mut out),
        };
        looped = looped.min(bench.time(run));
    }
    let each = |ns: f64| ns / SIZE as f64;
    for (peer, ns) in peers {
        bench.record(SUITE, &name, SIZE, "ns an element", each(ours), each(ns), peer, Some(1.0));
    }
    let peer = "loop of cotangent-math";
    bench.record(SUITE, &name, SIZE, "ns an element", each(ours), each(looped), peer, None);
}

/// Asks the peers for one round; keeps the shorter times, in nanoseconds.
fn ask<T: Number>(
    script: &mut Script,
    function: &str,
    kind: &str,
    ours: &[T],
    best: &mut Vec<(String, f64)>,
) -> Result<(), String> {
    // Beside exact results, of so many digits.
    let tolerance = if kind == "f64" { 1e-13 } else { 1e-5 };
    script.ask(&json!({
        "function": function, "type": kind, "size": SIZE, "repeats": REPEATS,
    }))?;
    for _ in 0..3 {
        let answer = script.answer()?;
        let library = answer["library"].as_str().ok_or("a library has no name")?;
        let seconds = answer["seconds"].as_f64().ok_or("a library has no time")?;
        let samples = answer["samples"].as_array().ok_or("a library has no samples")?;
        for (theirs, ours) in samples.iter().zip(ours.iter().step_by(SIZE / SAMPLES)) {
            let (theirs, ours): (f64, f64) = (theirs.as_f64().unwrap_or(f64::NAN), (*ours).into());
            let close = (ours - theirs).abs() <= tolerance * theirs.abs().max(1e-3);
            if !close {
                return Err(format!("{library} gives {theirs}, ours is {ours}"));
            }
        }
        match best.iter_mut().find(|(name, _)| name == library) {
            Some((_, ns)) => *ns = ns.min(1e9 * seconds),
            None => best.push((library.to_string(), 1e9 * seconds)),
        }
    }
    Ok(())
}
