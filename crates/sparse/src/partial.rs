//! Partial distance-2 colouring: columns that share a row differ.

use crate::graph::{Bipartite, Lists};

/// Colours the columns in this order, each with the smallest colour that its neighbours leave
/// (Gebremedhin, Manne, Pothen 2005, algorithm 3.2). Colours count from 1.
pub(crate) fn color(graph: &Bipartite, order: &[u32]) -> Vec<u32> {
    color_some(&graph.columns, &graph.rows, order)
}

/// Colours some of the vertices, given the lists of both sides; the others stay neutral.
pub(crate) fn color_some(own: &Lists, opposite: &Lists, order: &[u32]) -> Vec<u32> {
    let mut colors = vec![0u32; own.len()];
    // The vertex that last forbade a colour.
    let mut forbidden: Vec<u32> = vec![u32::MAX; 16];
    for &v in order {
        for &w in own.of(v) {
            for &x in opposite.of(w) {
                // Uncoloured vertices forbid colour 0, which nobody takes.
                forbidden[colors[x as usize] as usize] = v;
            }
        }
        colors[v as usize] = smallest(&mut forbidden, v);
    }
    colors
}

/// Colours the columns as they are numbered, as if some rows were not there; columns that have no other
/// rows stay neutral.
pub(crate) fn color_without(graph: &Bipartite, absent: &[bool]) -> Vec<u32> {
    let mut colors = vec![0u32; graph.columns.len()];
    let mut forbidden: Vec<u32> = vec![u32::MAX; 16];
    for v in 0..graph.columns.len() as u32 {
        let mut present = false;
        for &row in graph.columns.of(v).iter().filter(|row| !absent[**row as usize]) {
            present = true;
            for &x in graph.rows.of(row) {
                forbidden[colors[x as usize] as usize] = v;
            }
        }
        if present {
            colors[v as usize] = smallest(&mut forbidden, v);
        }
    }
    colors
}

/// Room for colours: a few to begin with, or as many as are given.
pub(crate) fn room(given: Option<&[u32]>) -> usize {
    given.map_or(16, |colors| colors.iter().copied().max().unwrap_or(0) as usize + 2)
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
