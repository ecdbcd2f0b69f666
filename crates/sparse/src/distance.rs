//! Plain colourings of a symmetric pattern as a graph: vertices that are near each other differ.

use crate::coloring::{ColoringError, check_size, most};
use crate::graph::Adjacency;
use crate::order::permutation;
use crate::partial::smallest;
use crate::{Greedy, Index, Invalid, Pattern};

/// How near two vertices of one colour must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distance {
    /// Neighbours differ.
    One,
    /// Neighbours, and neighbours of one vertex, differ.
    Two,
}

impl Greedy {
    /// Colours the vertices of a symmetric pattern's graph, from 1: for schedules and independent sets,
    /// not for finding entries. Neutral colours, covers and threads play no part.
    ///
    /// ```
    /// use cotangent_sparse::{Distance, Greedy, Pattern};
    ///
    /// let ring = Pattern::from_rows(6, 6, |i| [i, (i + 1) % 6, (i + 5) % 6]).unwrap();
    /// let greedy = Greedy::default();
    /// assert_eq!(greedy.color_graph(&ring, Distance::One)?, [1, 2, 1, 2, 1, 2]);
    /// assert_eq!(greedy.color_graph(&ring, Distance::Two)?, [1, 2, 3, 1, 2, 3]);
    /// # Ok::<(), cotangent_sparse::ColoringError>(())
    /// ```
    ///
    /// # Errors
    /// An unsymmetric pattern, a given order that does not fit, no order, or more than 2³¹ entries.
    pub fn color_graph<I: Index>(
        &self,
        pattern: &Pattern<I>,
        distance: Distance,
    ) -> Result<Vec<u32>, ColoringError> {
        check_size(pattern)?;
        let graph = Adjacency::symmetric(pattern)?;
        let mut best: Option<Vec<u32>> = None;
        for order in &self.orders {
            let sequence = permutation(&graph, order, self.ties)
                .ok_or(ColoringError::NotPermutation { vertices: graph.len() })?;
            let colors = color(&graph, &sequence, distance);
            if best.as_ref().is_none_or(|best| most(&colors) < most(best)) {
                best = Some(colors);
            }
        }
        best.ok_or(ColoringError::NoOrder)
    }
}

fn color(graph: &Adjacency, order: &[u32], distance: Distance) -> Vec<u32> {
    let mut colors = vec![0u32; graph.len()];
    let mut forbidden: Vec<u32> = vec![u32::MAX; 16];
    for &v in order {
        for &(w, _) in graph.of(v) {
            forbidden[colors[w as usize] as usize] = v;
            if distance == Distance::Two {
                for &(x, _) in graph.of(w) {
                    forbidden[colors[x as usize] as usize] = v;
                }
            }
        }
        colors[v as usize] = smallest(&mut forbidden, v);
    }
    colors
}

/// Checks a plain colouring by its definition.
///
/// # Errors
/// Two vertices that are near and have one colour, a vertex without a colour, or a number of colours that
/// does not fit.
pub fn check_graph<I: Index>(
    pattern: &Pattern<I>,
    distance: Distance,
    colors: &[u32],
) -> Result<(), Invalid> {
    let (expected, found) = (pattern.ncols().max(pattern.nrows()), colors.len());
    if expected != found || pattern.nrows() != pattern.ncols() {
        return Err(Invalid::Size { what: "vertices", expected, found });
    }
    if let Some(row) = colors.iter().position(|color| *color == 0) {
        return Err(Invalid::Color { what: "vertices", index: row, color: 0, most: expected });
    }
    let near = |v: usize, w: usize| {
        let color = colors[v];
        if v != w && colors[w] == color {
            return Err(Invalid::Near { first: v, second: w, color });
        }
        Ok(())
    };
    for (w, v) in pattern.entries() {
        near(v, w)?;
        if distance == Distance::Two {
            for x in pattern.column(w).iter().filter(|x| x.at() != w && v != w) {
                near(v, x.at())?;
            }
        }
    }
    Ok(())
}
