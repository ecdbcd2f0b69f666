//! Neutral colours: colours that no entry is read from need no product (Montoison, Dalle,
//! Gebremedhin 2025).

use crate::acyclic::Trees;
use crate::graph::Adjacency;
use crate::star::Stars;

/// The ends of every edge.
fn ends(graph: &Adjacency) -> Vec<(u32, u32)> {
    let mut ends = vec![(0, 0); graph.edges];
    for v in 0..graph.len() as u32 {
        for &(w, edge) in graph.of(v).iter().filter(|(w, _)| *w > v) {
            ends[edge as usize] = (v, w);
        }
    }
    ends
}

/// Which colours are read, given those that the diagonal needs; single edges are turned so that they
/// are read from colours that are needed anyway.
pub(crate) fn neutralise_stars(
    graph: &Adjacency,
    colors: &mut [u32],
    stars: &mut Stars,
    diagonal: impl Fn(u32) -> bool,
) {
    let mut used = needed_by_diagonal(colors, diagonal);
    for (hub, single) in stars.hub.iter().zip(&stars.single) {
        if !single {
            used[colors[*hub as usize] as usize] = true;
        }
    }
    let ends = ends(graph);
    for (edge, &(v, w)) in ends.iter().enumerate() {
        let star = stars.star[edge] as usize;
        if !stars.single[star] {
            continue;
        }
        let hub = stars.hub[star];
        let spoke = if hub == v { w } else { v };
        if used[colors[spoke as usize] as usize] {
            stars.hub[star] = spoke;
        } else {
            used[colors[hub as usize] as usize] = true;
        }
    }
    remove(colors, &used);
}

/// The same for trees: one that is a star is read from its hub only.
pub(crate) fn neutralise_trees(
    colors: &mut [u32],
    trees: &mut Trees,
    diagonal: impl Fn(u32) -> bool,
) {
    let mut used = needed_by_diagonal(colors, diagonal);
    for t in 0..trees.count() {
        match (trees.hub(t), trees.tree(t)) {
            (Some(hub), _) => used[colors[hub as usize] as usize] = true,
            (None, [_]) => {}
            (None, steps) => {
                for (leaf, parent, _) in steps {
                    used[colors[*leaf as usize] as usize] = true;
                    used[colors[*parent as usize] as usize] = true;
                }
            }
        }
    }
    for t in 0..trees.count() {
        let place = trees.start[t] as usize;
        if let [(leaf, parent, edge)] = *trees.tree(t) {
            // A step reads the colour of the parent.
            if used[colors[leaf as usize] as usize] && !used[colors[parent as usize] as usize] {
                trees.steps[place] = (parent, leaf, edge);
            } else {
                used[colors[parent as usize] as usize] = true;
            }
        }
    }
    remove(colors, &used);
}

fn needed_by_diagonal(colors: &[u32], diagonal: impl Fn(u32) -> bool) -> Vec<bool> {
    let most = colors.iter().copied().max().unwrap_or(0) as usize;
    let mut used = vec![false; most + 1];
    for (v, color) in colors.iter().enumerate() {
        used[*color as usize] |= diagonal(v as u32);
    }
    used
}

/// Numbers the colours that occur from 1 on, in the order they had.
pub(crate) fn close_gaps(colors: &mut [u32]) {
    let used = needed_by_diagonal(colors, |_| true);
    remove(colors, &used);
}

/// Makes unused colours neutral and closes the gaps.
fn remove(colors: &mut [u32], used: &[bool]) {
    let mut next = 0;
    let renumbered: Vec<u32> = used
        .iter()
        .enumerate()
        .map(|(color, used)| {
            if color == 0 || !used {
                return 0;
            }
            next += 1;
            next
        })
        .collect();
    for color in colors {
        *color = renumbered[*color as usize];
    }
}
