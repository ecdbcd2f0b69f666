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

/// Gives those of some columns whose colour a neighbour has, or which have none, the smallest one that is
/// left. Returns how many changed.
pub(crate) fn repair(graph: &Bipartite, colors: &mut [u32], columns: &[u32]) -> usize {
    let most = colors.iter().copied().max().unwrap_or(0) as usize;
    let mut forbidden: Vec<u32> = vec![u32::MAX; most + 16];
    let mut changed = 0;
    for &v in columns {
        let own = std::mem::replace(&mut colors[v as usize], 0);
        for &w in graph.columns.of(v) {
            for &x in graph.rows.of(w) {
                forbidden[colors[x as usize] as usize] = v;
            }
        }
        let keeps = own > 0 && forbidden[own as usize] != v;
        colors[v as usize] = if keeps { own } else { smallest(&mut forbidden, v) };
        changed += usize::from(!keeps);
    }
    changed
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
