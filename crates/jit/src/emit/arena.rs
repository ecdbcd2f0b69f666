//! Memory of arrays: blocks that are counted, in places that are used again.

use super::value::{Array, Base, Target, Val};
use super::{Emitter, Frame, Lanes};
use cotangent_ir::{Type, Value};

/// Blocks begin at whole cache lines.
const LINE: usize = 64;

#[derive(Default)]
pub(super) struct Arena {
    blocks: Vec<Block>,
    here: Region,
}

/// Memory in which places are given out.
#[derive(Default)]
pub(super) struct Region {
    /// Whether it is a task's own: each thread has one.
    private: bool,
    /// Free places: where, and how many bytes, by where.
    free: Vec<(usize, usize)>,
    end: usize,
}

struct Block {
    at: usize,
    bytes: usize,
    references: usize,
    /// By how many it is kept: blocks of loops stay while the text of the loop is written, whoever uses them, and a loop in a loop
    /// may have the same one.
    pins: usize,
}

impl Arena {
    /// Bytes in all, and two lines behind them: vectors that begin in an array may end there.
    pub(super) fn size(&self) -> usize {
        self.here.end + 2 * LINE
    }

    /// Begins the memory of a task. What was is given back, to be given to [`leave`](Arena::leave).
    pub(super) fn enter(&mut self) -> Region {
        std::mem::replace(&mut self.here, Region { private: true, ..Region::default() })
    }

    /// Ends the memory of a task: how many bytes it takes, and two lines behind them.
    pub(super) fn leave(&mut self, before: Region) -> usize {
        std::mem::replace(&mut self.here, before).end + 2 * LINE
    }

    fn allocate(&mut self, bytes: usize) -> usize {
        let at = self.here.allocate(bytes);
        let bytes = rounded(bytes);
        self.blocks.push(Block { at, bytes, references: 1, pins: 0 });
        self.blocks.len() - 1
    }

    /// A line at the end, where nothing has stood yet: it begins as zeros.
    fn fresh(&mut self) -> usize {
        self.here.end += LINE;
        self.here.end - LINE
    }

    fn give_back(&mut self, block: usize) {
        self.here.give_back(self.blocks[block].at, self.blocks[block].bytes);
    }
}

fn rounded(bytes: usize) -> usize {
    bytes.next_multiple_of(LINE).max(LINE)
}

impl Region {
    fn allocate(&mut self, bytes: usize) -> usize {
        let bytes = rounded(bytes);
        // The first that is large enough.
        let place = self.free.iter().position(|(_, free)| *free >= bytes);
        match place {
            Some(k) => {
                let (at, free) = self.free[k];
                match free == bytes {
                    true => drop(self.free.remove(k)),
                    false => self.free[k] = (at + bytes, free - bytes),
                }
                at
            }
            None => {
                // What is free at the end grows.
                let at = match self.free.last() {
                    Some((at, free)) if at + free == self.end => {
                        let at = *at;
                        self.free.pop();
                        at
                    }
                    _ => self.end,
                };
                self.end = at + bytes;
                at
            }
        }
    }

    fn give_back(&mut self, at: usize, bytes: usize) {
        let k = self.free.partition_point(|(place, _)| *place < at);
        self.free.insert(k, (at, bytes));
        if k + 1 < self.free.len() && self.free[k].0 + self.free[k].1 == self.free[k + 1].0 {
            self.free[k].1 += self.free.remove(k + 1).1;
        }
        if k > 0 && self.free[k - 1].0 + self.free[k - 1].1 == self.free[k].0 {
            self.free[k - 1].1 += self.free.remove(k).1;
        }
    }
}

impl Emitter<'_> {
    /// Room for an array; of one for each lane, if it varies.
    pub(super) fn allocate(&mut self, ty: Type, len: usize, varies: bool, width: usize) -> Array {
        let lanes = if varies { width } else { 1 };
        let block = self.arena.allocate(len * lanes * ty.element().bytes());
        let at = self.arena.blocks[block].at;
        let base = if self.arena.here.private { Base::Private(at) } else { Base::Arena(at) };
        Array { base, ty, len, varies, block: Some(block), rows: None, roomy: true, watched: false }
    }

    /// Room for a value: where it is asked to be, if that is free.
    pub(super) fn allocate_for(
        &mut self,
        frame: &Frame<'_>,
        value: Value,
        (ty, len): (Type, usize),
        cx: &Lanes,
        varies: bool,
    ) -> Array {
        if let Some(place) = self.place_of(frame, value).cloned() {
            self.hand_over(&place);
            return Array { ty, ..place };
        }
        self.allocate(ty, len, varies, cx.width)
    }

    /// Where a value is asked to be, if that is free.
    pub(super) fn place_of<'f>(&self, frame: &'f Frame<'_>, value: Value) -> Option<&'f Array> {
        let place = frame.dests.get(&value)?;
        place.block.is_some_and(|block| self.arena.blocks[block].references == 0).then_some(place)
    }

    /// A place in the arena for memory that grows: a pointer and how many bytes it has. It is never used otherwise.
    pub(super) fn growing(&mut self) -> usize {
        let at = self.arena.fresh();
        self.stacks.push(at);
        at
    }

    /// A place of the same kind for the memory of tasks: one is enough for all.
    pub(super) fn pool(&mut self) -> usize {
        *self.pool.get_or_insert_with(|| self.arena.fresh())
    }

    /// Memory that is somebody else's, such as that of a result.
    pub(super) fn outside(&mut self, base: Base, ty: Type, len: usize) -> Array {
        self.arena.blocks.push(Block { at: 0, bytes: 0, references: 0, pins: 1 });
        let block = Some(self.arena.blocks.len() - 1);
        Array { block, ..Array::new(base, ty, len) }
    }

    /// Whether it stands in such memory.
    pub(super) fn is_outside(&self, array: &Array) -> bool {
        array.block.is_some_and(|block| self.arena.blocks[block].bytes == 0)
    }

    /// Whether it stands in the arena or in the memory of a task.
    pub(super) fn is_in_arena(&self, array: &Array) -> bool {
        array.block.is_some_and(|block| self.arena.blocks[block].bytes > 0)
    }

    fn block(val: &Val) -> Option<usize> {
        match val {
            Val::Array(array) | Val::Target(Target::Shared(array) | Target::Own(array)) => {
                array.block
            }
            Val::Kept(_, val) => Self::block(val),
            _ => None,
        }
    }

    pub(super) fn retain(&mut self, val: &Val) {
        if let Some(block) = Self::block(val) {
            self.arena.blocks[block].references += 1;
        }
    }

    #[allow(clippy::needless_pass_by_value, reason = "the value is gone afterwards")]
    pub(super) fn release(&mut self, val: Val) {
        if let Some(block) = Self::block(&val) {
            let entry = &mut self.arena.blocks[block];
            entry.references -= 1;
            if entry.references == 0 && entry.pins == 0 {
                self.arena.give_back(block);
            }
        }
    }

    /// Whether only one value has this memory.
    pub(super) fn is_alone(&self, array: &Array) -> bool {
        array.block.is_some_and(|block| self.arena.blocks[block].references == 1)
    }

    /// Keeps a block from being used otherwise while the text of a loop is written.
    pub(super) fn pin(&mut self, array: &Array) {
        if let Some(block) = array.block {
            self.arena.blocks[block].pins += 1;
        }
    }

    /// Whoever is given it next has it alone.
    pub(super) fn hand_over(&mut self, array: &Array) {
        if let Some(block) = array.block {
            self.arena.blocks[block].references = 1;
        }
    }

    /// The block is no longer kept by this loop, and held by nobody but the caller.
    pub(super) fn unpin(&mut self, array: &Array) {
        if let Some(block) = array.block {
            let entry = &mut self.arena.blocks[block];
            (entry.pins, entry.references) = (entry.pins.saturating_sub(1), 1);
        }
    }
}
