//! Combinators against plain loops: the same numbers to the bit, functions that do not grow, and errors
//! where traces are mixed.

mod nested;

use std::panic::{AssertUnwindSafe, catch_unwind};

use cotangent_ir::input::{array, index, indices, number};
use cotangent_ir::{
    Function, IndexTable, Traced, TracedArray, TracedIndex, argmax_over, argmin_over, cond, fori,
    map_over, max_over, min_over, parse, prod_over, scan, select, sum_over, trace, trace_arrays,
    trace_at, trace_with, while_,
};
use cotangent_numbers::{Dual, Elementary, Fault};

fn point(seed: u64, n: usize) -> Vec<f64> {
    let mut rng = fastrand::Rng::with_seed(seed ^ 0x5eed);
    (0..n).map(|_| 0.2 + 1.3 * (rng.f64() - 0.3)).collect()
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// Well formed, and the same after a way through text.
#[track_caller]
fn sound(f: &Function) {
    f.verify().unwrap();
    let text = f.to_string();
    let again = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(again.to_string(), text);
    assert_eq!(again.structural_hash(), f.structural_hash(), "{text}");
}

#[track_caller]
fn gives(f: &Function, x: &[f64], expected: &[f64]) {
    sound(f);
    assert_eq!(bits(&f.run(x).unwrap()), bits(expected), "{f}");
}

#[test]
fn reductions_are_the_loops_they_stand_for() {
    for n in [0, 1, 2, 7, 300] {
        let f = trace_arrays("f", &[&[n]], |x| {
            let x = x[0];
            (
                sum_over(0..n, |i| x.at(i).sin() * i.to_number()),
                prod_over(0..n, |i| x.at(i) + 0.5),
                max_over(0..n, |i| x.at(i)),
                min_over(0..n, |i| x.at(i)),
            )
        })
        .unwrap();
        let x = point(n as u64, n);
        let mut expected = [0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY];
        for (i, x) in x.iter().enumerate() {
            expected[0] += x.sin() * i as f64;
            expected[1] *= x + 0.5;
            expected[2] = expected[2].max(*x);
            expected[3] = expected[3].min(*x);
        }
        gives(&f, &x, &expected);
    }
}

#[test]
fn domains_have_several_dimensions_and_need_not_begin_at_zero() {
    let f = trace_arrays("f", &[&[4, 5]], |x| {
        let x = x[0];
        let inner = sum_over((1..3, 2..5), |(i, j)| x.at((i, j)) * (i * 10 + j).to_number());
        let three = sum_over([0..2, 1..3, 0..2], |[i, j, k]| x.at([i + k, j]));
        let (i, j) = argmax_over((1..4, 1..5), |(i, j)| x.at((i, j)));
        let k = argmin_over(2..4, |i| x.at((i, 0)));
        (
            inner,
            three,
            i.to_number(),
            j.to_number(),
            k,
            map_over((1..3, 0..2), |(i, j)| x.at((j, i))),
        )
    })
    .unwrap();
    let x = point(3, 20);
    let at = |i: usize, j: usize| x[i * 5 + j];
    let (mut inner, mut three) = (0.0, 0.0);
    for i in 1..3 {
        for j in 2..5 {
            inner += at(i, j) * (i * 10 + j) as f64;
        }
    }
    for i in 0..2 {
        for j in 1..3 {
            for k in 0..2 {
                three += at(i + k, j);
            }
        }
    }
    let mut best = (1, 1);
    for i in 1..4 {
        for j in 1..5 {
            if at(i, j) > at(best.0, best.1) {
                best = (i, j);
            }
        }
    }
    let least = if at(3, 0) < at(2, 0) { 3.0 } else { 2.0 };
    let expected =
        [inner, three, best.0 as f64, best.1 as f64, least, at(0, 1), at(1, 1), at(0, 2), at(1, 2)];
    gives(&f, &x, &expected);
}

#[test]
fn loops_carry_states_of_every_shape() {
    let n = 6;
    let f = trace_with("f", (array([n]), number(), index()), |(x, a, rounds)| {
        // A tuple of an array, a list of numbers, an index and a mask.
        let start = (x, vec![a, a * 2.0], TracedIndex::from(0), a.less(0.0));
        fori(rounds, start, |i, (x, list, k, mask)| {
            let place = (k + i) % n;
            let x = x.with(place, list[0]).add_at((place + 1) % n, list[1]);
            let next = vec![list[1].sin(), list[0] + x.at(place)];
            (x, next, k + 2, mask | x.at(0).greater(3.0))
        })
    })
    .unwrap();
    for rounds in [0usize, 1, 9] {
        let (mut x, a) = (point(5, n), 0.7);
        let arguments = [&x[..], &[a, rounds as f64]].concat();
        let (mut list, mut k, mut mask) = ([a, a * 2.0], 0, a < 0.0);
        for i in 0..rounds {
            let place = (k + i) % n;
            x[place] = list[0];
            x[(place + 1) % n] += list[1];
            list = [list[1].sin(), list[0] + x[place]];
            k += 2;
            mask |= x[0] > 3.0;
        }
        let expected = [&x[..], &list, &[k as f64, f64::from(u8::from(mask))]].concat();
        gives(&f, &arguments, &expected);
    }
}

#[test]
fn a_loop_that_ends_by_a_condition_and_one_that_stacks() {
    let f = trace("f", 2, |x| {
        let (root, steps) = while_(
            (x[0], TracedIndex::from(0)),
            |(r, k)| (r * r - x[0]).abs().greater(1e-10) & k.less(50),
            |(r, k)| ((r + x[0] / r) * 0.5, k + 1),
        );
        let (last, (all, squares)) = scan(5, x[1], |i, s| {
            let s = s * 0.5 + i.to_number();
            (s, (s, s * s))
        });
        vec![root, steps.to_number(), last, all.sum(), squares.at(3)]
    })
    .unwrap();
    let (a, b) = (7.3_f64, 0.3);
    let (mut r, mut steps) = (a, 0.0);
    while (r * r - a).abs() > 1e-10 && steps < 50.0 {
        r = (r + a / r) * 0.5;
        steps += 1.0;
    }
    let (mut s, mut all) = (b, Vec::new());
    for i in 0..5 {
        s = s * 0.5 + f64::from(i);
        all.push(s);
    }
    let sum = all[1..].iter().fold(all[0], |sum, s| sum + s);
    gives(&f, &[a, b], &[r, steps, s, sum, all[3] * all[3]]);
}

#[test]
fn the_size_of_the_function_does_not_depend_on_the_number_of_rounds() {
    let text = |n: usize| {
        let f = trace_arrays("f", &[&[n]], |x| {
            let x = x[0];
            let smooth = map_over(0..n, |i| x.at((i + 1) % n) + x.at((i - 1) % n));
            let end = fori(n, smooth, |i, y| y.with(i, y.at(i).sin()));
            sum_over((0..n, 0..n), |(i, j)| end.at(i) * x.at(j))
        })
        .unwrap();
        sound(&f);
        f.to_string()
    };
    assert_eq!(text(71).replace("71", "n"), text(100_003).replace("100003", "n"));
}

#[test]
fn bodies_capture_through_several_levels() {
    let (n, m) = (4, 3);
    let table: Vec<usize> = vec![2, 0, 1, 1, 2, 0, 0, 1, 2, 2, 2, 1];
    let next = IndexTable::shaped(&[n, m], &table).unwrap();
    let f = trace_with("f", (array([n, m]), number()), |(x, a)| {
        let weights = TracedArray::constant([m], &[0.5, 0.25, 2.0]);
        let scale = a.exp();
        map_over(0..n, |i| {
            let row = x.row(i);
            let shift = i.to_number() * scale;
            fori(2, Traced::from(0.0), |round, s| {
                let large = sum_over(0..m, |j| row.at(j)).greater(1.0);
                s + sum_over(0..m, |j| {
                    let k = next.at((i, j));
                    let inner = max_over(0..m, |l| row.at(k) * weights.at(l) - x.at((i, l)));
                    cond(large, || inner * shift + a, || inner - round.to_number())
                })
            })
        })
    })
    .unwrap();
    let x = point(8, n * m);
    let (a, weights) = (0.3_f64, [0.5, 0.25, 2.0]);
    let mut expected = Vec::new();
    for i in 0..n {
        let row = &x[i * m..(i + 1) * m];
        let mut s = 0.0;
        for round in 0..2 {
            let large = row[1..].iter().fold(row[0], |sum, x| sum + x) > 1.0;
            let mut sum = None;
            for j in 0..m {
                let k = table[i * m + j];
                let inner = (0..m).map(|l| row[k] * weights[l] - row[l]).reduce(f64::max).unwrap();
                let term =
                    if large { inner * (i as f64 * a.exp()) + a } else { inner - f64::from(round) };
                sum = Some(sum.map_or(term, |sum: f64| sum + term));
            }
            s += sum.unwrap();
        }
        expected.push(s);
    }
    gives(&f, &[&x[..], &[a]].concat(), &expected);
    // Tables stand once, however deep they are used.
    assert_eq!(f.to_string().matches("table [").count(), 2);
}

#[test]
fn arrays_work_element_by_element() {
    let f = trace_with("f", (array([2, 3]), array([2, 3]), number()), |(x, y, a)| {
        let all = (x + y * 2.0 - a) / (1.0 + y.sqrt()) * (a - x);
        let powers = x.powi(3).mul_add(y, 0.5).max(a).hypot(y);
        let product = x.matmul(y.transposed())
            + x.row(0).matmul(y.transposed()).dot(x.row(1).matmul(y.transposed()));
        (
            -all,
            powers,
            product,
            x.dot(y),
            y.product(),
            x.largest() - x.smallest(),
            x.map(|e| e * a + 1.0),
        )
    })
    .unwrap();
    let (x, y, a) = (point(1, 6), point(2, 6).iter().map(|y| y.abs()).collect::<Vec<_>>(), 0.4);
    let mut expected = Vec::new();
    let pairs = || x.iter().zip(&y);
    expected.extend(pairs().map(|(x, y)| -((x + y * 2.0 - a) / (1.0 + y.sqrt()) * (a - x))));
    expected.extend(pairs().map(|(x, y)| x.powi(3).mul_add(*y, 0.5).max(a).hypot(*y)));
    let dot = |i: usize, j: usize| {
        let terms: Vec<f64> = (0..3).map(|k| x[i * 3 + k] * y[j * 3 + k]).collect();
        terms[0] + terms[1] + terms[2]
    };
    let both = dot(0, 0) * dot(1, 0) + dot(0, 1) * dot(1, 1);
    expected.extend([dot(0, 0) + both, dot(0, 1) + both, dot(1, 0) + both, dot(1, 1) + both]);
    expected.push(pairs().map(|(x, y)| x * y).reduce(|a, b| a + b).unwrap());
    expected.push(y.iter().copied().reduce(|a, b| a * b).unwrap());
    let extreme = |f: fn(f64, f64) -> f64| x.iter().copied().reduce(f).unwrap();
    expected.push(extreme(f64::max) - extreme(f64::min));
    expected.extend(x.iter().map(|x| x * a + 1.0));
    gives(&f, &[&x[..], &y, &[a]].concat(), &expected);
}

#[test]
fn indices_and_tables_are_computed_with() {
    let f = trace_with("f", (indices([3]), array([3]), index()), |(p, x, k)| {
        let order = x.argsort();
        let back = map_over(0..3, |i| (x.at(order.at(i)), p.at(i) * 2 - 1));
        let number = |i: TracedIndex| i.to_number();
        let all = [
            number(7 - k),
            number((k - 9) / 4),
            number((k - 9) % 4),
            number(-k.min(2) + k.max(4)),
            number(select(k.at_least(3) & !k.equal(5), p.at(0), k)),
            number(TracedIndex::from(6) * 7),
        ];
        (back, all, IndexTable::new(&[4, 5, 6]).at(1).to_number())
    })
    .unwrap();
    for k in 0..7_i64 {
        let chosen = if k >= 3 && k != 5 { 2 } else { k };
        let expected = [
            1.0,
            5.0,
            8.0,
            3.0,
            -1.0,
            1.0,
            (7 - k) as f64,
            (k - 9).div_euclid(4) as f64,
            (k - 9).rem_euclid(4) as f64,
            (-k.min(2) + k.max(4)) as f64,
            chosen as f64,
            42.0,
            5.0,
        ];
        gives(&f, &[2.0, 0.0, 1.0, 5.0, 8.0, 1.0, k as f64], &expected);
    }
}

#[test]
fn only_the_chosen_branch_runs() {
    // The other one would read outside the array.
    let f = trace_arrays("f", &[&[4]], |x| {
        map_over(0..4, |i| cond(i.less(3), || x[0].at(i + 1) - x[0].at(i), || 0.0.into()))
    })
    .unwrap();
    gives(&f, &[1.0, 3.0, 6.0, 10.0], &[2.0, 3.0, 4.0, 0.0]);
    // With an outcome that is known there is no branch at all.
    let g = trace("g", 1, |x| vec![cond(true, || x[0], || x[0] + 1.0)]).unwrap();
    assert_eq!(g.operations(), 0);
}

/// The line that ends with this mark.
fn line_of(mark: &str) -> u32 {
    let mark = format!("// {mark}");
    let lines = include_str!("main.rs").lines();
    1 + lines.enumerate().find(|(_, line)| line.ends_with(&mark)).unwrap().0 as u32
}

#[test]
fn a_branch_on_a_traced_value_in_a_body_is_an_error_that_says_what_to_do() {
    let found = trace_at("f", &[2.0], |x| {
        vec![sum_over(0..3, |i| {
            let large = x[0] > 1.0; // branch
            if large { x[0] * i.to_number() } else { x[0] }
        })]
    });
    let message = found.unwrap_err().to_string();
    assert!(message.contains(&format!("main.rs:{}:", line_of("branch"))), "{message}");
    assert!(message.contains("`cond`") && message.contains("`select`"), "{message}");
}

#[test]
fn traces_at_a_point_know_what_comes_out_of_loops() {
    let program = |x: &[Traced]| {
        let all = TracedArray::from_numbers(x);
        let sum = sum_over(0..2, |i| all.at(i));
        let y = if sum > 1.0 { sum * 2.0 } else { sum };
        vec![if y.value() > 5.0 && all.at(1) < 3.0 { y + 1.0 } else { y }]
    };
    let f = trace_at("f", &[1.0, 2.0], program).unwrap();
    sound(&f);
    assert_eq!(f.run(&[1.0, 2.0]).unwrap(), [7.0]);
    assert!(f.run(&[0.0, 0.5]).unwrap_err().to_string().contains("record it anew"));
    let g = trace_at("f", &[0.0, 0.5], program).unwrap();
    assert_eq!(g.run(&[0.0, 0.5]).unwrap(), [0.5]);
}

#[track_caller]
fn is_mixed(found: Result<Function, Fault>, mark: &str) {
    let fault = found.unwrap_err();
    let Fault::MixedTraces { at } = fault else { panic!("{fault}") };
    assert!(at.file().ends_with("main.rs"), "{fault}");
    assert_eq!(at.line(), line_of(mark), "{fault}");
}

#[test]
fn a_value_of_a_body_is_not_known_outside() {
    let mut kept = None;
    let found = trace("f", 1, |x| {
        sum_over(0..3, |i| {
            kept = Some(i.to_number() * x[0]);
            x[0]
        });
        let y = kept.unwrap() + 1.0; // behind a body
        vec![y]
    });
    is_mixed(found, "behind a body");
    let mut index = None;
    let found = trace_arrays("f", &[&[3]], |x| {
        let first = map_over(0..3, |i| {
            index = Some(i);
            x[0].at(i)
        });
        map_over(0..3, |j| {
            let k = index.unwrap() + j; // in another body
            first.at(k)
        })
    });
    is_mixed(found, "in another body");
    let kept = std::cell::Cell::new(None);
    let found = trace("f", 1, |x| {
        let yes = || {
            kept.set(Some(x[0].sin()));
            x[0]
        };
        let no = || {
            let y = kept.get().unwrap() * 2.0; // in the other branch
            y
        };
        vec![cond(x[0].greater(0.0), yes, no)]
    });
    is_mixed(found, "in the other branch");
}

#[test]
fn a_value_of_another_trace_is_not_taken_for_one_of_this() {
    let mut other = None;
    trace("g", 1, |x| {
        other = Some(x[0] * 2.0);
        vec![x[0]]
    })
    .unwrap();
    let other = other.unwrap();
    let found = trace("f", 1, |x| {
        vec![sum_over(0..3, |_| {
            let y = x[0] + other; // of an ended trace
            y
        })]
    });
    is_mixed(found, "of an ended trace");
    // A trace inside a trace is no body of it; what is done with numbers of the outer one goes there.
    let outer = trace("f", 1, |x| {
        let mut double = None;
        let found = trace("g", 1, |y| {
            double = Some(x[0] * 2.0);
            vec![sum_over(0..2, |_| {
                let z = y[0] * x[0]; // of the trace around
                z
            })]
        });
        is_mixed(found, "of the trace around");
        vec![double.unwrap() + 1.0]
    });
    assert_eq!(outer.unwrap().run(&[1.0]).unwrap(), [3.0]);
    // A result, a state and a condition that are none of its own.
    let mixed = |found: Result<Function, Fault>| {
        assert!(matches!(found, Err(Fault::MixedTraces { .. })), "{found:?}");
    };
    mixed(trace_arrays("f", &[&[2]], |_| other));
    mixed(trace("f", 1, |_| vec![sum_over(0..2, |_| other)]));
    mixed(trace("f", 1, |_| vec![fori(3, other, |_, s| s * 2.0)]));
    mixed(trace("f", 1, |x| vec![cond(other.less(0.0), || x[0], || x[0] * 2.0)]));
    mixed(trace("f", 1, |x| {
        vec![cond(x[0].less(0.0), || x[0], || while_(x[0], |_| other.less(1.0), |s| s))]
    }));
}

#[test]
fn a_panic_in_a_closure_leaves_nothing_behind() {
    for depth in 0..3 {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            trace("f", 1, |x| {
                vec![sum_over(0..3, |i| {
                    assert!(depth != 0, "on purpose");
                    let state = fori(3, x[0], |_, s| {
                        assert!(depth != 1, "on purpose");
                        cond(
                            s.greater(0.0),
                            || {
                                assert!(depth != 2, "on purpose");
                                s
                            },
                            || s,
                        )
                    });
                    state * i.to_number()
                })]
            })
        }));
        assert!(caught.is_err());
        let f = trace("g", 1, |x| vec![sum_over(0..4, |i| x[0] * i.to_number())]).unwrap();
        assert_eq!(f.run(&[2.0]).unwrap(), [12.0]);
    }
    // Caught inside, the trace around goes on.
    let f = trace("h", 1, |x| {
        let gone = catch_unwind(AssertUnwindSafe(|| {
            sum_over(0..3, |_| -> Traced { std::panic::resume_unwind(Box::new(0)) })
        }));
        assert!(gone.is_err());
        vec![x[0] + sum_over(0..2, |_| x[0])]
    });
    assert_eq!(f.unwrap().run(&[5.0]).unwrap(), [15.0]);
}

#[test]
fn what_does_not_fit_is_said_where_it_stands() {
    let says = |found: Result<Function, Fault>, what: &str| {
        let message = found.unwrap_err().to_string();
        assert!(message.contains(what) && message.contains("main.rs"), "{message}");
    };
    let shapes: &[&[usize]] = &[&[3], &[4], &[2, 3]];
    says(trace_arrays("f", shapes, |x| x[0] + x[1]), "[3]f64 and [4]f64 differ");
    says(trace_arrays("f", shapes, |x| x[0].at((0, 1))), "has 1 indices, 2 are given");
    says(trace_arrays("f", shapes, |x| x[2].row((0, 1))), "use `at`");
    says(trace_arrays("f", shapes, |x| x[0].at(3)), "index 3 is out of range");
    says(trace_arrays("f", shapes, |x| x[0].with(-1, 0.0)), "index -1 is out of range");
    says(trace_arrays("f", shapes, |x| x[2].with(1, x[1])), "[4]f64 does not go where [3]f64 is");
    says(trace_arrays("f", shapes, |x| x[2].matmul(x[1])), "do not fit");
    says(trace_arrays("f", shapes, |x| x[0].dot(x[1])), "the shapes differ");
    says(trace_arrays("f", shapes, |x| fori(3, vec![x[0]], |_, _| vec![x[1]])), "keeps its shape");
    says(
        trace_arrays("f", shapes, |x| {
            let mask = x[0].at(0).less(0.0);
            cond(mask, || vec![x[0].at(0)], Vec::new)
        }),
        "must fit",
    );
    says(
        trace_arrays("f", shapes, |_| TracedArray::constant([2], &[1.0])),
        "1 numbers are no array",
    );
    says(trace_arrays("f", shapes, |x| select(x[0].at(0).less(0.0), x[0], x[1])), "must fit");
    // Outside of a trace there is nothing to record to.
    let outside = catch_unwind(|| sum_over(0..3, |i| i.to_number()));
    assert!(outside.is_err());
}

#[test]
fn tables_are_read_back_and_are_one_if_equal() {
    let f = trace_with("f", (index(), number()), |(i, a)| {
        let x = TracedArray::constant([2, 2], &[1.5, -0.0, f64::INFINITY, 1e-300]);
        let again = TracedArray::constant([2, 2], &[1.5, -0.0, f64::INFINITY, 1e-300]);
        let table = IndexTable::new(&[1, 0]);
        let _unused = IndexTable::new(&[1, 1]).at(i);
        x.at((table.at(i), i)) * a + again.at((i, i)) + x.at((0, 0))
    })
    .unwrap();
    sound(&f);
    let text = f.to_string();
    assert!(text.contains("table [1.5, -0.0, inf, 1e-300] : [2, 2]f64"), "{text}");
    assert_eq!(text.matches("table").count(), 2, "{text}");
    assert_eq!(f.run(&[0.0, 2.0]).unwrap(), [f64::INFINITY]);
    assert_eq!(f.run(&[1.0, 2.0]).unwrap(), [-0.0 * 2.0 + 1e-300 + 1.5]);
    let other = |entry: f64| {
        trace_with("f", index(), |i| TracedArray::constant([2], &[1.0, entry]).at(i)).unwrap()
    };
    assert_ne!(other(2.0), other(3.0));
    assert_ne!(other(2.0).structural_hash(), other(3.0).structural_hash());
    assert_eq!(other(2.0).structural_hash(), other(2.0).structural_hash());
    let wrong = |text: &str| parse(&format!("fn @f() -> [2]i64 {{ %t = {text} ret %t }}"));
    assert!(wrong("table [1, 2] : [2]i64").is_ok());
    assert!(wrong("table [1, 2] : [3]i64").unwrap_err().message.contains("2 entries"));
    assert!(wrong("table [1, 2.5] : [2]i64").unwrap_err().message.contains("`2.5`"));
    assert!(wrong("table [1, %x] : [2]i64").unwrap_err().message.contains("expected a number"));
    assert!(wrong("table [1, 2] : i64").is_err());
    let singles = "fn @f(%i: i64) -> f32 {\n  %0 = table [0.1, 2.0, inf] : [3]f32\n  %1 = ld %0[%i]\n  ret %1\n}\n";
    assert_eq!(parse(singles).unwrap().to_string(), singles);
}

#[test]
fn a_million_operations_are_a_million_operations() {
    let f = trace("f", 2, |x| {
        let mut y = x[0];
        for _ in 0..500_000 {
            y = y * x[1] + 0.5;
        }
        vec![y]
    })
    .unwrap();
    assert_eq!(f.operations(), 1_000_000);
}
