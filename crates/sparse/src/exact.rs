//! The fewest colours, by branch and bound: for small patterns, and to judge greedy colourings by.

use crate::coloring::{Coloring, ColoringError, check_symmetric};
use crate::graph::{Adjacency, Bipartite};
use crate::order::{Neighbours, Stamps};
use crate::{Decompression, Greedy, Pattern, Problem};

/// Colouring with the fewest colours there can be. The time grows exponentially.
///
/// ```
/// use cotangent_sparse::{Exact, Greedy, Pattern, Problem};
///
/// // In the natural order the columns of this matrix take three colours; two are enough.
/// let p = Pattern::from_entries(4, 4, [(0, 2), (0, 3), (1, 1), (1, 3), (2, 2), (2, 3), (3, 0), (3, 1)]).unwrap();
/// assert_eq!(Greedy::default().color(&p, Problem::Column)?.count(), 3);
/// assert_eq!(Exact::default().color(&p, Problem::Column)?.count(), 2);
/// # Ok::<(), cotangent_sparse::ColoringError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exact {
    /// How many partial colourings are looked at before it is given up.
    pub steps: u64,
}

impl Default for Exact {
    fn default() -> Self {
        Exact { steps: 20_000_000 }
    }
}

/// What a colouring must not have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Two neighbours of one colour.
    Proper,
    /// That, or a path of four vertices in two colours.
    Star,
    /// That, or a cycle in two colours.
    Acyclic,
}

impl Exact {
    /// Colours columns, rows, or a symmetric matrix with the fewest colours.
    ///
    /// # Errors
    /// As [`Greedy::color`]; for bidirectional problems, which it does not solve; and if it takes too
    /// many steps.
    pub fn color(&self, pattern: &Pattern, problem: Problem) -> Result<Coloring, ColoringError> {
        let greedy = Greedy { orders: crate::Order::ALL.to_vec(), ..Greedy::default() };
        let start = greedy.color(pattern, problem)?;
        let (lists, rule, colors) = match problem {
            Problem::Column => (near(&Bipartite::new(pattern)), Rule::Proper, &start.columns),
            Problem::Row => {
                (near(&Bipartite::new(pattern).transposed()), Rule::Proper, &start.rows)
            }
            Problem::Symmetric(decompression) => {
                check_symmetric(pattern)?;
                let rule = match decompression {
                    Decompression::Direct => Rule::Star,
                    Decompression::Substitution => Rule::Acyclic,
                };
                (near(&Adjacency::symmetric(pattern)), rule, &start.columns)
            }
            Problem::Bidirectional(_) => return Err(ColoringError::NoExact),
        };
        let mut search = Search::new(lists, rule, colors, start.count() as u32, self.steps);
        search.extend(0, 0);
        if search.steps == 0 {
            return Err(ColoringError::TooHard { steps: self.steps });
        }
        Coloring::given(pattern, problem, &search.best)
    }
}

/// The neighbours of each vertex.
fn near<G: Neighbours>(graph: &G) -> Vec<Vec<u32>> {
    let mut seen = Stamps::new(graph.vertices());
    (0..graph.vertices() as u32)
        .map(|v| {
            let mut list = Vec::new();
            graph.each(v, &mut seen, |w| list.push(w));
            list
        })
        .collect()
}

struct Search {
    lists: Vec<Vec<u32>>,
    rule: Rule,
    /// The vertices, those with the most neighbours first.
    order: Vec<u32>,
    colors: Vec<u32>,
    best: Vec<u32>,
    least: u32,
    steps: u64,
}

impl Search {
    fn new(lists: Vec<Vec<u32>>, rule: Rule, best: &[u32], least: u32, steps: u64) -> Self {
        let mut order: Vec<u32> = (0..lists.len() as u32).collect();
        order.sort_by_key(|v| std::cmp::Reverse(lists[*v as usize].len()));
        let colors = vec![0; lists.len()];
        Search { lists, rule, order, colors, best: best.to_vec(), least, steps }
    }

    /// Colours the vertices from place `at` on, with `used` colours so far.
    fn extend(&mut self, at: usize, used: u32) {
        if at == self.order.len() {
            self.least = used;
            self.best.clone_from(&self.colors);
            return;
        }
        let v = self.order[at];
        // One new colour is as good as another.
        for color in 1..=(used + 1) {
            if color.max(used) >= self.least || self.steps == 0 {
                break;
            }
            self.steps -= 1;
            self.colors[v as usize] = color;
            if self.allowed(v) {
                self.extend(at + 1, used.max(color));
            }
        }
        self.colors[v as usize] = 0;
    }

    fn allowed(&self, v: u32) -> bool {
        let own = self.color(v);
        if self.colored(v).any(|w| self.color(w) == own) {
            return false;
        }
        match self.rule {
            Rule::Proper => true,
            Rule::Star => !self.on_two_colored_path(v),
            Rule::Acyclic => !self.on_two_colored_cycle(v),
        }
    }

    fn color(&self, v: u32) -> u32 {
        self.colors[v as usize]
    }

    fn colored(&self, v: u32) -> impl Iterator<Item = u32> + '_ {
        self.lists[v as usize].iter().copied().filter(|w| self.color(*w) > 0)
    }

    fn on_two_colored_path(&self, v: u32) -> bool {
        let own = self.color(v);
        self.colored(v).any(|w| {
            let other = self.color(w);
            // v at the end: v w x y; v inside: w v x y.
            let end = self.colored(w).any(|x| {
                x != v
                    && self.color(x) == own
                    && self.colored(x).any(|y| y != w && self.color(y) == other)
            });
            let inside = self.colored(v).any(|x| {
                x != w
                    && self.color(x) == other
                    && self.colored(x).any(|y| y != v && self.color(y) == own)
            });
            end || inside
        })
    }

    /// Whether two neighbours of one colour are joined by another path in the same two colours.
    fn on_two_colored_cycle(&self, v: u32) -> bool {
        let own = self.color(v);
        let neighbours: Vec<u32> = self.colored(v).collect();
        neighbours.iter().any(|&start| {
            let other = self.color(start);
            let (mut seen, mut open) = (vec![v, start], vec![start]);
            while let Some(w) = open.pop() {
                for x in self.colored(w) {
                    let color = self.color(x);
                    if (color == own || color == other) && !seen.contains(&x) {
                        seen.push(x);
                        open.push(x);
                    }
                }
            }
            neighbours.iter().any(|&w| w != start && self.color(w) == other && seen.contains(&w))
        })
    }
}
