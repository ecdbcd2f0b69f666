//! Many points at once: points are the lanes of vectors, and blocks of them go to the threads.

use rayon::prelude::*;

use super::recording::Kind;
use super::{BLOCK, Compiled};
use crate::Error;

impl Compiled {
    /// All outputs at many points, given one behind the other: points are the lanes of vectors.
    ///
    /// # Errors
    /// Numbers that are no whole number of points, and what the program raises; a function with branches.
    pub fn values_many(&self, points: &[f64]) -> Result<Vec<f64>, Error> {
        self.many(Kind::Values, points, self.outputs)
    }

    /// The values at many points, each with its gradient behind it.
    ///
    /// # Errors
    /// As [`values_many`](Compiled::values_many); several outputs.
    pub fn gradients_many(&self, points: &[f64]) -> Result<Vec<f64>, Error> {
        self.one_output()?;
        self.many(Kind::Gradients, points, 1 + self.inputs)
    }

    fn many(&self, kind: Kind, points: &[f64], gives: usize) -> Result<Vec<f64>, Error> {
        let n = self.inputs;
        if n == 0 || gives == 0 {
            return Err(Error::Empty { what: "a point, or what is computed at one," });
        }
        if !points.len().is_multiple_of(n) {
            let what = format!("{} numbers are no whole number of points of {n}", points.len());
            return Err(Error::Compiled(what));
        }
        let count = points.len() / n;
        let params = &self.recordings.first.columns;
        let results: Vec<usize> = match kind {
            Kind::Gradients => std::iter::once(1).chain(params.iter().copied()).collect(),
            _ => self.recordings.first.results.clone(),
        };
        let mut all = vec![0.0; count * gives];
        let one = |(x, out): &mut (Vec<f64>, Vec<f64>), (block, to): (&[f64], &mut [f64])| {
            // Parameter by parameter, point by point; a last block that is not full repeats its last point.
            let here = block.len() / n;
            let mut from = 0;
            for size in params {
                for p in 0..BLOCK {
                    let point = &block[p.min(here - 1) * n..][..n];
                    x[from * BLOCK + p * size..][..*size]
                        .copy_from_slice(&point[from..from + size]);
                }
                from += size;
            }
            self.run(kind, &[x], &mut [out])?;
            let mut from = 0;
            for size in &results {
                for p in 0..here {
                    to[p * gives + from..][..*size]
                        .copy_from_slice(&out[from * BLOCK + p * size..][..*size]);
                }
                from += size;
            }
            Ok::<(), Error>(())
        };
        let rooms = || (vec![0.0; BLOCK * n], vec![0.0; BLOCK * gives]);
        if count <= BLOCK {
            if count > 0 {
                one(&mut rooms(), (points, &mut all))?;
            }
        } else {
            let blocks = points.par_chunks(BLOCK * n).zip(all.par_chunks_mut(BLOCK * gives));
            blocks.try_for_each_init(rooms, one)?;
        }
        Ok(all)
    }
}
