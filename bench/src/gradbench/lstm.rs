//! A network with memory that predicts the next character, and backpropagation through time.

use serde_json::json;

use super::{Case, Hand, Random, Size, rows};

struct Lstm {
    l: usize,
    b: usize,
    c: usize,
    /// By layer the weights, then the biases, each [forget, in, out, change].
    main: Vec<f64>,
    extra: Vec<f64>,
    state: Vec<f64>,
    sequence: Vec<f64>,
    /// Hidden values and cells as they go on.
    now: Vec<f64>,
    value: [f64; 1],
    /// What each step and layer keeps: by element the numbers of [`Kept`].
    kept: Vec<Kept>,
    /// exp(y) over their sum plus two, and x at the end, of each step.
    shares: Vec<f64>,
    outputs: Vec<f64>,
    y: Vec<f64>,
    /// Cotangents of hidden values and cells.
    hidden_bar: Vec<f64>,
    cell_bar: Vec<f64>,
    /// Main, then extra.
    g: Vec<f64>,
}

/// The values of a step, a layer and an element that the way back needs.
#[derive(Clone, Copy, Default)]
struct Kept {
    x: f64,
    hidden: f64,
    cell: f64,
    forget: f64,
    input: f64,
    output: f64,
    change: f64,
    /// tanh of the new cell.
    curbed: f64,
}

pub fn case(size: Size) -> Case {
    let (l, c, b) = size.pick([(2, 4, 3), (2, 1_024, 14), (4, 4_096, 14), (6, 8_192, 14)]);
    let mut random = Random::new();
    let (main, extra) = (random.uniform(8 * l * b), random.uniform(3 * b));
    let state = random.uniform(2 * l * b);
    // Bits of a text: some of them are set.
    let bits = random.uniform(c * b).into_iter().map(|u| if u < 0.3 { 1.0 } else { 0.0 });
    let sequence: Vec<f64> = bits.collect();
    let zeros = |n: usize| vec![0.0; n];
    Case {
        module: "lstm",
        label: format!("l={l} c={c}"),
        functions: [Some("objective"), Some("jacobian")],
        input: json!({
            "main_params": rows(&main, 4 * b), "extra_params": rows(&extra, b),
            "state": rows(&state, b), "sequence": rows(&sequence, b),
        }),
        hand: Box::new(Lstm {
            now: zeros(2 * l * b),
            value: [0.0],
            kept: vec![Kept::default(); (c - 1) * l * b],
            shares: zeros((c - 1) * b),
            outputs: zeros((c - 1) * b),
            y: zeros(b),
            hidden_bar: zeros(l * b),
            cell_bar: zeros(l * b),
            g: zeros(8 * l * b + 3 * b),
            l,
            b,
            c,
            main,
            extra,
            state,
            sequence,
        }),
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

impl Lstm {
    /// The loss; all is kept if asked for.
    fn forward(&mut self, keeps: bool) -> f64 {
        let (l, b) = (self.l, self.b);
        self.now.copy_from_slice(&self.state);
        let mut loss = 0.0;
        for t in 0..self.c - 1 {
            for e in 0..b {
                let mut x = self.sequence[t * b + e] * self.extra[e];
                for i in 0..l {
                    let weight = |gate: usize| self.main[(8 * i + gate) * b + e];
                    let bias = |gate: usize| self.main[(8 * i + 4 + gate) * b + e];
                    let (hidden, cell) = (self.now[2 * i * b + e], self.now[(2 * i + 1) * b + e]);
                    let forget = sigmoid(x * weight(0) + bias(0));
                    let input = sigmoid(hidden * weight(1) + bias(1));
                    let output = sigmoid(x * weight(2) + bias(2));
                    let change = (hidden * weight(3) + bias(3)).tanh();
                    let next = cell * forget + input * change;
                    let curbed = next.tanh();
                    if keeps {
                        self.kept[(t * l + i) * b + e] =
                            Kept { x, hidden, cell, forget, input, output, change, curbed };
                    }
                    x = output * curbed;
                    (self.now[2 * i * b + e], self.now[(2 * i + 1) * b + e]) = (x, next);
                }
                self.outputs[t * b + e] = x;
                self.y[e] = x * self.extra[b + e] + self.extra[2 * b + e];
            }
            let mut sum = 2.0;
            for (share, y) in self.shares[t * b..][..b].iter_mut().zip(&self.y) {
                *share = y.exp();
                sum += *share;
            }
            self.shares[t * b..][..b].iter_mut().for_each(|share| *share /= sum);
            let log = sum.ln();
            let next = &self.sequence[(t + 1) * b..][..b];
            loss += next.iter().zip(&self.y).map(|(s, y)| s * (y - log)).sum::<f64>();
        }
        -loss / (b * (self.c - 1)) as f64
    }
}

impl Hand for Lstm {
    fn primal(&mut self) -> &[f64] {
        self.value = [self.forward(false)];
        &self.value
    }

    fn derivative(&mut self) -> &[f64] {
        self.forward(true);
        let (l, b) = (self.l, self.b);
        let seed = -1.0 / (b * (self.c - 1)) as f64;
        self.g.fill(0.0);
        self.hidden_bar.fill(0.0);
        self.cell_bar.fill(0.0);
        let (g, g_extra) = self.g.split_at_mut(8 * l * b);
        for t in (0..self.c - 1).rev() {
            let next = &self.sequence[(t + 1) * b..][..b];
            let total: f64 = next.iter().sum();
            for e in 0..b {
                let y_bar = seed * (next[e] - total * self.shares[t * b + e]);
                g_extra[2 * b + e] += y_bar;
                g_extra[b + e] += y_bar * self.outputs[t * b + e];
                let mut x_bar = y_bar * self.extra[b + e];
                for i in (0..l).rev() {
                    let k = &self.kept[(t * l + i) * b + e];
                    let weight = |gate: usize| self.main[(8 * i + gate) * b + e];
                    let hidden_bar = self.hidden_bar[i * b + e] + x_bar;
                    let output_bar = hidden_bar * k.curbed * k.output * (1.0 - k.output);
                    let cell_bar = self.cell_bar[i * b + e]
                        + hidden_bar * k.output * (1.0 - k.curbed * k.curbed);
                    let forget_bar = cell_bar * k.cell * k.forget * (1.0 - k.forget);
                    let input_bar = cell_bar * k.change * k.input * (1.0 - k.input);
                    let change_bar = cell_bar * k.input * (1.0 - k.change * k.change);
                    let bars = [forget_bar, input_bar, output_bar, change_bar];
                    for (gate, bar) in bars.into_iter().enumerate() {
                        let by = if gate % 2 == 0 { k.x } else { k.hidden };
                        g[(8 * i + gate) * b + e] += bar * by;
                        g[(8 * i + 4 + gate) * b + e] += bar;
                    }
                    self.cell_bar[i * b + e] = cell_bar * k.forget;
                    self.hidden_bar[i * b + e] = input_bar * weight(1) + change_bar * weight(3);
                    x_bar = forget_bar * weight(0) + output_bar * weight(2);
                }
                g_extra[e] += x_bar * self.sequence[t * b + e];
            }
        }
        &self.g
    }
}
