//! Many points at once: points are the lanes of vectors, and blocks of them go to the threads.

use rayon::prelude::*;

use super::recording::Kind;
use super::{BLOCK, Compiled};
use crate::error::check_size;
use crate::{Error, Real};

impl<T: Real> Compiled<T> {
    /// All outputs at many points, given one behind the other: points are the lanes of vectors.
    ///
    /// # Errors
    /// Numbers that are no whole number of points, and what the program raises; a function with branches.
    pub fn values_many(&self, points: &[T]) -> Result<Vec<T>, Error> {
        let mut values = vec![T::zero(); self.count(points)? * self.outputs];
        self.values_many_into(points, &mut values)?;
        Ok(values)
    }

    /// [`values_many`](Compiled::values_many) in place.
    ///
    /// # Errors
    /// As [`values_many`](Compiled::values_many); another number of places than outputs of all points.
    pub fn values_many_into(&self, points: &[T], values: &mut [T]) -> Result<(), Error> {
        self.many(Kind::Values, points, self.outputs, values)
    }

    /// The values at many points, each with its gradient behind it.
    ///
    /// # Errors
    /// As [`values_many`](Compiled::values_many); several outputs.
    pub fn gradients_many(&self, points: &[T]) -> Result<Vec<T>, Error> {
        let mut gradients = vec![T::zero(); self.count(points)? * (1 + self.inputs)];
        self.gradients_many_into(points, &mut gradients)?;
        Ok(gradients)
    }

    /// [`gradients_many`](Compiled::gradients_many) in place.
    ///
    /// # Errors
    /// As [`gradients_many`](Compiled::gradients_many); another number of places than 1 + inputs for each point.
    pub fn gradients_many_into(&self, points: &[T], gradients: &mut [T]) -> Result<(), Error> {
        self.one_output()?;
        self.many(Kind::Gradients, points, 1 + self.inputs, gradients)
    }

    /// How many points there are.
    fn count(&self, points: &[T]) -> Result<usize, Error> {
        let n = self.inputs;
        if n == 0 {
            return Err(Error::Empty { what: "a point, or what is computed at one," });
        }
        if !points.len().is_multiple_of(n) {
            let what = format!("{} numbers are no whole number of points of {n}", points.len());
            return Err(Error::Compiled(what));
        }
        Ok(points.len() / n)
    }

    fn many(&self, kind: Kind, points: &[T], gives: usize, all: &mut [T]) -> Result<(), Error> {
        let (n, count) = (self.inputs, self.count(points)?);
        if gives == 0 {
            return Err(Error::Empty { what: "a point, or what is computed at one," });
        }
        check_size("the results", count * gives, all.len(), "give places for each point")?;
        let first = &self.recordings.first;
        let params = &first.columns;
        let results: &[&[usize]] = match kind {
            Kind::Gradients => &[&[1], params],
            _ => &[&first.results],
        };
        let one = |(block, to): (&[T], &mut [T])| {
            // Parameter by parameter, point by point; a last block that is not full repeats its last point.
            let here = block.len() / n;
            let mut room = first.spare.take(Vec::new);
            room.resize(BLOCK * (n + gives), T::zero());
            let (x, out) = room.split_at_mut(BLOCK * n);
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
            for size in results.iter().flat_map(|sizes| sizes.iter()) {
                for p in 0..here {
                    to[p * gives + from..][..*size]
                        .copy_from_slice(&out[from * BLOCK + p * size..][..*size]);
                }
                from += size;
            }
            first.spare.give(room);
            Ok::<(), Error>(())
        };
        if count > BLOCK {
            let blocks = points.par_chunks(BLOCK * n).zip(all.par_chunks_mut(BLOCK * gives));
            return blocks.try_for_each(one);
        }
        if count > 0 { one((points, all)) } else { Ok(()) }
    }
}
