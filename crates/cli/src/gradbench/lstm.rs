//! A network with memory that predicts the next character of a text.

use cotangent_ir::input::array;
use cotangent_ir::{Function, Traced, TracedArray, fori, trace_with};
use cotangent_transform::gradient_to;
use serde_json::Value;

use super::input;
use super::task::{Task, failed, list, scalar, unknown, without_first};

/// Layers, bits of a character and characters.
#[derive(Clone, Copy)]
struct Sizes {
    l: usize,
    b: usize,
    c: usize,
}

pub(super) fn task(function: &str, given: &Value) -> Result<Task, String> {
    let state = input::rows(given, "state")?;
    let sequence = input::rows(given, "sequence")?;
    let sizes = Sizes { l: state.rows / 2, b: state.columns, c: sequence.rows };
    let Sizes { l, b, c } = sizes;
    if l == 0 || b == 0 || state.rows % 2 != 0 {
        return Err("`state` must have two rows for each layer".to_string());
    }
    if c < 2 || sequence.columns != b {
        return Err(format!("`sequence` must have two characters or more, of {b} bits each"));
    }
    let mut inputs = input::rows_of(given, "main_params", 2 * l, 4 * b)?;
    inputs.extend(input::rows_of(given, "extra_params", 3, b)?);
    inputs.extend(state.numbers);
    inputs.extend(sequence.numbers);
    let shape = format!("{l} {b} {c}");
    match function {
        "objective" => Ok(Task::program(shape, inputs, move || objective(sizes), scalar)),
        "jacobian" => {
            let program = move || {
                let moves = ["x0", "x1"];
                let both = gradient_to(&objective(sizes)?, |p| moves.contains(&&*p.name));
                Ok(without_first(&both.map_err(failed)?, 1))
            };
            Ok(Task::program(shape, inputs, program, list))
        }
        other => Err(unknown(other, &["objective", "jacobian"])),
    }
}

fn objective(Sizes { l, b, c }: Sizes) -> Result<Function, String> {
    let inputs = (array([2 * l, 4, b]), array([3, b]), array([2 * l, b]), array([c, b]));
    trace_with("lstm", inputs, |(main, extra, state, sequence)| {
        // Forget, in, out, change.
        let gates = |row: usize| [0, 1, 2, 3].map(|gate| main.row((row, gate)));
        let layers: Vec<_> = (0..l).map(|i| (gates(2 * i), gates(2 * i + 1))).collect();
        let [weight_in, weight_out, bias_out] = [0, 1, 2].map(|row| extra.row(row));
        // Of each layer what it gives, and its cell.
        let state: Vec<TracedArray> = (0..2 * l).map(|row| state.row(row)).collect();
        let (_, loss) = fori(c - 1, (state, Traced::from(0.0)), |t, (mut state, loss)| {
            let mut x = sequence.row(t) * weight_in;
            for (i, (weight, bias)) in layers.iter().enumerate() {
                let (hidden, cell) = (state[2 * i], state[2 * i + 1]);
                let forget = sigmoid(x * weight[0] + bias[0]);
                let input = sigmoid(hidden * weight[1] + bias[1]);
                let output = sigmoid(x * weight[2] + bias[2]);
                let change = (hidden * weight[3] + bias[3]).tanh();
                let cell = cell * forget + input * change;
                x = output * cell.tanh();
                (state[2 * i], state[2 * i + 1]) = (x, cell);
            }
            let y = x * weight_out + bias_out;
            let y = y - (y.exp().sum() + 2.0).ln();
            (state, loss + sequence.row(t + 1).dot(y))
        });
        -loss / (b * (c - 1)) as f64
    })
    .map_err(failed)
}

/// As it is defined for this network: its derivative needs no other exponential.
fn sigmoid(x: TracedArray) -> TracedArray {
    ((-x).exp() + 1.0).recip()
}
