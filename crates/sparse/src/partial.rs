//! Partial distance-2 colouring: columns that share a row differ.
//!
//! Each row keeps the colours that its columns have, as bits: a column then looks at its own rows only,
//! not at all columns of them (27-point grid, graph included: 7 ms instead of 24).

use crate::graph::{Bipartite, Lists};

/// How many words of 64 colours are kept for each row.
const WORDS: usize = 4;

/// The colours that can be told from the words.
pub(crate) const IN_WORDS: usize = 64 * WORDS;

/// The colours around each row, as bits. Words come into being when colours reach them.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    levels: Vec<Vec<u64>>,
    rows: usize,
}

impl Words {
    pub(crate) fn new(rows: usize) -> Self {
        Words { levels: Vec::new(), rows }
    }

    #[inline(always)]
    fn level(&mut self, level: usize) -> &mut Vec<u64> {
        while self.levels.len() <= level {
            self.levels.push(vec![0; self.rows]);
        }
        &mut self.levels[level]
    }

    /// Takes the smallest colour that none of the rows has, here and in other words; `None` if it is
    /// beyond the words.
    #[inline(always)]
    pub(crate) fn take(&mut self, rows: &[u32], others: Option<&Words>) -> Option<u32> {
        for level in 0..WORDS {
            let word = self.level(level);
            let mut taken = rows.iter().fold(0, |taken, row| taken | word[*row as usize]);
            if let Some(other) = others.and_then(|others| others.levels.get(level)) {
                taken |= rows.iter().fold(0, |taken, row| taken | other[*row as usize]);
            }
            if taken != u64::MAX {
                let bit = taken.trailing_ones();
                for row in rows {
                    word[*row as usize] |= 1 << bit;
                }
                return Some(64 * level as u32 + bit + 1);
            }
        }
        None
    }

    /// Forgets the colours of some rows.
    pub(crate) fn clear(&mut self, rows: &[u32]) {
        for word in &mut self.levels {
            rows.iter().for_each(|row| word[*row as usize] = 0);
        }
    }

    /// Keeps a colour for some rows.
    pub(crate) fn put(&mut self, rows: &[u32], color: u32) {
        let Some(bit) = color.checked_sub(1).filter(|bit| (*bit as usize) < IN_WORDS) else {
            return;
        };
        let word = self.level(bit as usize / 64);
        rows.iter().for_each(|row| word[*row as usize] |= 1 << (bit % 64));
    }
}

/// Colours the columns in this order, each with the smallest colour that its neighbours leave
/// (Gebremedhin, Manne, Pothen 2005, algorithm 3.2). Colours count from 1.
pub(crate) fn color(graph: &Bipartite, order: &[u32]) -> Vec<u32> {
    color_some(&graph.columns, (graph.nrows(), || graph.rows()), order)
}

/// Colours some of the vertices, given their lists and of the other side the number and what makes the
/// lists if there are many colours; the others stay neutral.
pub(crate) fn color_some<'g>(
    own: &Lists,
    (others, opposite): (usize, impl Fn() -> &'g Lists),
    order: &[u32],
) -> Vec<u32> {
    let mut colors = vec![0u32; own.len()];
    let mut words = Words::new(others);
    // The vertex that last forbade a colour, for colours beyond the words.
    let mut forbidden: Vec<u32> = vec![u32::MAX; IN_WORDS + 2];
    for &v in order {
        let list = own.of(v);
        colors[v as usize] = words.take(list, None).unwrap_or_else(|| {
            let opposite = opposite();
            for &w in list {
                for &x in opposite.of(w) {
                    // Uncoloured vertices forbid colour 0, which nobody takes.
                    forbidden[colors[x as usize] as usize] = v;
                }
            }
            smallest(&mut forbidden, v)
        });
    }
    colors
}

/// Colours the columns as they are numbered, as if some rows were not there; columns that have no other
/// rows stay neutral.
pub(crate) fn color_without(graph: &Bipartite, absent: &[bool]) -> Vec<u32> {
    let mut colors = vec![0u32; graph.columns.len()];
    let mut forbidden: Vec<u32> = vec![u32::MAX; 16];
    let rows = graph.rows();
    for v in 0..graph.columns.len() as u32 {
        let mut present = false;
        for &row in graph.columns.of(v).iter().filter(|row| !absent[**row as usize]) {
            present = true;
            for &x in rows.of(row) {
                forbidden[colors[x as usize] as usize] = v;
            }
        }
        if present {
            colors[v as usize] = smallest(&mut forbidden, v);
        }
    }
    colors
}

/// Gives those of some columns whose colour a neighbour has, or which have none, the smallest one that is
/// left.
pub(crate) fn repair(graph: &Bipartite, colors: &mut [u32], columns: &[u32]) {
    let most = colors.iter().copied().max().unwrap_or(0) as usize;
    let mut forbidden: Vec<u32> = vec![u32::MAX; most + 16];
    let rows = graph.rows();
    for &v in columns {
        let own = std::mem::replace(&mut colors[v as usize], 0);
        for &w in graph.columns.of(v) {
            for &x in rows.of(w) {
                forbidden[colors[x as usize] as usize] = v;
            }
        }
        let keeps = own > 0 && forbidden[own as usize] != v;
        colors[v as usize] = if keeps { own } else { smallest(&mut forbidden, v) };
    }
}

/// The smallest colour that v has not forbidden; there is room for one more afterwards.
#[inline(always)]
pub(crate) fn smallest(forbidden: &mut Vec<u32>, v: u32) -> u32 {
    let mut color = 1;
    while forbidden[color] == v {
        color += 1;
    }
    if color + 1 >= forbidden.len() {
        forbidden.resize(2 * forbidden.len(), u32::MAX);
    }
    color as u32
}
