//! A determinant by expansion; its gradient by the cofactors, each by expansion.

use serde_json::json;

use super::{Case, Hand, Random, Size};

struct Det {
    a: Vec<f64>,
    ell: usize,
    /// After each row and column the next one that is left; the lists begin behind the last.
    rows: Vec<usize>,
    columns: Vec<usize>,
    value: [f64; 1],
    g: Vec<f64>,
}

pub fn case(size: Size) -> Case {
    let ell = size.pick([3, 5, 8, 10]);
    let a = Random::new().uniform(ell * ell);
    let links: Vec<usize> = (1..=ell).chain([0]).collect();
    Case {
        module: "det",
        label: format!("ell={ell}"),
        functions: [Some("primal"), Some("gradient")],
        input: json!({ "A": a, "ell": ell }),
        hand: Box::new(Det {
            g: vec![0.0; ell * ell],
            rows: links.clone(),
            columns: links,
            value: [0.0],
            a,
            ell,
        }),
    }
}

/// The determinant of so many rows and columns that are left.
fn expand(a: &[f64], ell: usize, left: usize, rows: &mut [usize], columns: &mut [usize]) -> f64 {
    let row = rows[ell];
    if left == 1 {
        return a[row * ell + columns[ell]];
    }
    rows[ell] = rows[row];
    let (mut sum, mut sign, mut before) = (0.0, 1.0, ell);
    for _ in 0..left {
        let column = columns[before];
        columns[before] = columns[column];
        sum += sign * a[row * ell + column] * expand(a, ell, left - 1, rows, columns);
        columns[before] = column;
        before = column;
        sign = -sign;
    }
    rows[ell] = row;
    sum
}

impl Hand for Det {
    fn primal(&mut self) -> &[f64] {
        self.value = [expand(&self.a, self.ell, self.ell, &mut self.rows, &mut self.columns)];
        &self.value
    }

    fn derivative(&mut self) -> &[f64] {
        let ell = self.ell;
        if ell == 1 {
            self.g[0] = 1.0;
            return &self.g;
        }
        for row in 0..ell {
            let before_row = if row == 0 { ell } else { row - 1 };
            self.rows[before_row] = self.rows[row];
            for column in 0..ell {
                let before = if column == 0 { ell } else { column - 1 };
                self.columns[before] = self.columns[column];
                let minor = expand(&self.a, ell, ell - 1, &mut self.rows, &mut self.columns);
                self.columns[before] = column;
                self.g[row * ell + column] = if (row + column) % 2 == 0 { minor } else { -minor };
            }
            self.rows[before_row] = row;
        }
        &self.g
    }
}
