//! Partial distance-2 colouring on several threads, with a result that does not depend on how many.
//!
//! The order is cut into blocks of a fixed size. A round colours all blocks side by side; each sees the
//! colours of earlier rounds and its own, never those of another block. Then every row is looked through:
//! of columns of one colour that share it, the first in the order keeps the colour and the others go into
//! the next round (after Gebremedhin and Manne 2000; there the blocks see what happens to be there, so the
//! colours depend on the threads).

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

use crate::graph::Bipartite;
use crate::partial::{self, IN_WORDS, Words, smallest};

/// How many columns a block has: large enough that few of them share a row with another block.
const BLOCK: usize = 8192;

/// Rows that are looked through together.
const ROWS: usize = 4096;

const DONE: u32 = u32::MAX;

/// Colours the columns in this order, block by block side by side.
pub(crate) fn color(graph: &Bipartite, order: &[u32]) -> Vec<u32> {
    if order.len() <= 2 * BLOCK {
        return partial::color(graph, order);
    }
    let n = graph.columns.len();
    let colors: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(0)).collect();
    let mut place = vec![0u32; n];
    for (at, v) in order.iter().enumerate() {
        place[*v as usize] = at as u32;
    }
    // The colours of earlier rounds, around each row.
    let mut kept = Words::new(graph.nrows());
    // The block a column is in during this round.
    let mut block = vec![DONE; n];
    let mut open = order.to_vec();
    while open.len() > BLOCK {
        for (b, columns) in open.chunks(BLOCK).enumerate() {
            columns.iter().for_each(|v| block[*v as usize] = b as u32);
        }
        let round = Round { graph, block: &block, kept: &kept, colors: &colors };
        let next = AtomicUsize::new(0);
        // Which thread takes a block makes no difference to it.
        rayon::broadcast(|_| {
            let mut own = Words::new(graph.nrows());
            let take = || open.chunks(BLOCK).nth(next.fetch_add(1, Relaxed));
            while let Some(columns) = take() {
                round.color(columns, &mut own);
            }
        });
        let clashing = clashes(graph, &place, &colors);
        let (again, done): (Vec<u32>, Vec<u32>) =
            open.iter().partition(|v| clashing[**v as usize].load(Relaxed));
        open.iter().for_each(|v| block[*v as usize] = DONE);
        for &v in &done {
            kept.put(graph.columns.of(v), colors[v as usize].load(Relaxed));
        }
        again.iter().for_each(|v| colors[*v as usize].store(0, Relaxed));
        open = again;
    }
    let mut colors: Vec<u32> = colors.into_iter().map(AtomicU32::into_inner).collect();
    partial::repair(graph, &mut colors, &open);
    colors
}

/// What the blocks of a round share.
struct Round<'r> {
    graph: &'r Bipartite,
    block: &'r [u32],
    kept: &'r Words,
    colors: &'r [AtomicU32],
}

impl Round<'_> {
    /// Colours the columns of a block one after the other. Only this block stores their colours, and only
    /// it loads them, so what is loaded does not depend on time.
    fn color(&self, columns: &[u32], own: &mut Words) {
        let mut forbidden: Vec<u32> = vec![u32::MAX; IN_WORDS + 2];
        for &v in columns {
            let rows = self.graph.columns.of(v);
            let color =
                own.take(rows, Some(self.kept)).unwrap_or_else(|| self.beyond(v, &mut forbidden));
            self.colors[v as usize].store(color, Relaxed);
        }
        columns.iter().for_each(|v| own.clear(self.graph.columns.of(*v)));
    }

    /// The smallest colour of all, if it is beyond the words.
    fn beyond(&self, v: u32, forbidden: &mut Vec<u32>) -> u32 {
        let own = self.block[v as usize];
        let rows = self.graph.rows();
        for &row in self.graph.columns.of(v) {
            for &x in rows.of(row) {
                let block = self.block[x as usize];
                if block == DONE || block == own {
                    let color = self.colors[x as usize].load(Relaxed) as usize;
                    // Room for one more, which `smallest` may look at.
                    if color + 1 >= forbidden.len() {
                        forbidden.resize(2 * (color + 1), u32::MAX);
                    }
                    forbidden[color] = v;
                }
            }
        }
        smallest(forbidden, v)
    }
}

/// The columns that share a row with an earlier one of the same colour.
fn clashes(graph: &Bipartite, place: &[u32], colors: &[AtomicU32]) -> Vec<AtomicBool> {
    let clashing: Vec<AtomicBool> = place.iter().map(|_| AtomicBool::new(false)).collect();
    let lists = graph.rows();
    let rows: Vec<u32> = (0..graph.nrows() as u32).collect();
    rows.par_chunks(ROWS).for_each(|rows| {
        // By colour: the row that last met it, and the first column of the order there.
        let mut first: Vec<(u32, u32)> = vec![(u32::MAX, 0); 64];
        for &row in rows {
            for &v in lists.of(row) {
                let color = colors[v as usize].load(Relaxed) as usize;
                if color == 0 {
                    continue;
                }
                if color >= first.len() {
                    first.resize(2 * color, (u32::MAX, 0));
                }
                let (met, w) = first[color];
                let mut early = v;
                if met == row && w != v {
                    let mut late = w;
                    if place[w as usize] < place[v as usize] {
                        std::mem::swap(&mut early, &mut late);
                    }
                    clashing[late as usize].store(true, Relaxed);
                }
                first[color] = (row, early);
            }
        }
    });
    clashing
}
