//! Partial distance-2 colouring: columns that share a row differ.

use crate::graph::Bipartite;

/// Colours the columns in this order, each with the smallest colour that its neighbours leave
/// (Gebremedhin, Manne, Pothen 2005, algorithm 3.2). Colours count from 1.
pub(crate) fn color(graph: &Bipartite, order: &[u32]) -> Vec<u32> {
    let mut colors = vec![0u32; graph.columns.len()];
    // The vertex that last forbade a colour; a colour may be as high as there are columns.
    let mut forbidden: Vec<u32> = vec![u32::MAX; 16];
    for &v in order {
        for &row in graph.columns.of(v) {
            for &x in graph.rows.of(row) {
                // Uncoloured vertices forbid colour 0, which nobody takes.
                forbidden[colors[x as usize] as usize] = v;
            }
        }
        let color = smallest(&mut forbidden, v);
        colors[v as usize] = color;
    }
    colors
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
