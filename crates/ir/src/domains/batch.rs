//! A function at many points at a time.

use cotangent_numbers::Scalar;
use cotangent_numbers::fault::catch;

use crate::function::Function;
use crate::interpret::RunError;
use crate::machine::{Code, Frame, LANES, Machine};
use crate::slot::{Integers, Numbers, Slot, Truths};

/// Entries that the longest array of a block may have: beyond, lanes do not fit the cache.
const ENTRIES: usize = 1 << 15;

/// A function made ready to be run at many points, a block of them for each operation.
///
/// ```
/// use cotangent_ir::{Batch, parse};
///
/// let f = parse("fn @f(%x: f64, %y: f64) -> f64 { %a = mul %x, %y %b = sin %a ret %b }").unwrap();
/// let mut batch = Batch::new(&f);
/// let results = batch.run(&[1.0, 2.0, 3.0, 4.0], 2)?;
/// assert_eq!(results, [2.0_f64.sin(), 12.0_f64.sin()]);
/// # Ok::<(), cotangent_ir::RunError>(())
/// ```
pub struct Batch<'f, S: Scalar + 'f> {
    function: &'f Function,
    code: Code<'f>,
    frame: Frame<S>,
    machine: Machine<'f, S>,
    block: usize,
}

impl<'f, S: Scalar + 'f> Batch<'f, S> {
    /// A function made ready. Buffers are kept from one run to the next.
    pub fn new(function: &'f Function) -> Self {
        let code = Code::new(function);
        let mut block = (ENTRIES / code.longest().max(1)).clamp(1, LANES);
        // Points with results of different lengths do not stand side by side, nor those that ask for a length
        // of their own.
        if code.asks || function.results().iter().any(|v| function.ty(*v).len().is_none()) {
            block = 1;
        }
        Batch { function, code, frame: Frame::new(function), machine: Machine::new(), block }
    }

    /// The results at so many points: the numbers of one point after the other, results likewise.
    ///
    /// # Errors
    /// As [`run`](Function::run), at any of the points.
    pub fn run(&mut self, points: &[S], count: usize) -> Result<Vec<S>, RunError> {
        let each = self.function.check_inputs(points.len(), count)?;
        let mut results = Vec::new();
        let mut first = 0;
        while first < count {
            // Kernels take their own points in blocks; a few lanes around them would only be in the way.
            let left = count - first;
            let lanes = match self.function.structures.is_empty() {
                true => left.min(self.block),
                false if self.block.min(left) < 16 => 1,
                false => left.min(self.block),
            };
            let own = &points[first * each..(first + lanes) * each];
            catch(|| self.lanes(own, lanes, &mut results, count))??;
            first += lanes;
        }
        Ok(results)
    }

    fn lanes(
        &mut self,
        x: &[S],
        lanes: usize,
        results: &mut Vec<S>,
        count: usize,
    ) -> Result<(), RunError> {
        let args = self.function.arguments(x, lanes)?;
        let slots = self.code.run(&mut self.machine, &mut self.frame, args, lanes)?;
        self.code.check_guards(&self.frame)?;
        if results.is_empty() {
            let each: usize = slots.iter().map(Slot::len).sum();
            results.reserve(each.saturating_mul(count));
        }
        let scalars: Vec<bool> =
            self.function.results().iter().map(|v| self.function.ty(*v).is_scalar()).collect();
        for lane in 0..lanes {
            for (slot, scalar) in slots.iter().zip(&scalars) {
                let all = 0..slot.len();
                match slot {
                    Slot::Number(_) | Slot::Numbers(_) => {
                        let view = slot.view::<Numbers<S>>(*scalar, lanes);
                        results.extend(all.map(|e| view.at(e, lane)));
                    }
                    Slot::Integer(_) | Slot::Integers(_) => {
                        let view = slot.view::<Integers<S>>(*scalar, lanes);
                        for e in all {
                            results.push(self.machine.shown(self.function, view.at(e, lane))?);
                        }
                    }
                    Slot::Truth(_) | Slot::Truths(_) => {
                        let view = slot.view::<Truths<S>>(*scalar, lanes);
                        let number = |e| S::select(view.at(e, lane), S::one(), S::zero());
                        results.extend(all.map(number));
                    }
                }
            }
        }
        slots.into_iter().for_each(|slot| self.machine.recycle(slot));
        Ok(())
    }
}

impl Function {
    /// The results at so many points, a block of them for each operation: the numbers of one point after the
    /// other, results likewise. To the bit what [`run`](Function::run) gives at each.
    ///
    /// ```
    /// use cotangent_ir::parse;
    ///
    /// let f = parse("fn @f(%x: f64) -> f64 { %a = mul %x, %x ret %a }").unwrap();
    /// assert_eq!(f.run_batch(&[1.0, 2.0, 3.0], 3)?, [1.0, 4.0, 9.0]);
    /// # Ok::<(), cotangent_ir::RunError>(())
    /// ```
    ///
    /// # Errors
    /// As [`run`](Function::run), at any of the points.
    pub fn run_batch<S: Scalar>(&self, points: &[S], count: usize) -> Result<Vec<S>, RunError> {
        Batch::new(self).run(points, count)
    }
}
