//! Colours that vertices have already, when they are coloured again.

use crate::partial::smallest;

/// The first `fixed` vertices of the order keep these colours; the others do if they can, and a colour 0
/// is no wish.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'c> {
    pub(crate) colors: &'c [u32],
    pub(crate) fixed: usize,
}

impl<'c> Wanted<'c> {
    /// All vertices keep their colours.
    pub(crate) fn all(colors: &'c [u32]) -> Self {
        Wanted { colors, fixed: colors.len() }
    }
}

/// Room for colours: a few to begin with, or as many as are wanted.
pub(crate) fn room(wanted: Option<Wanted<'_>>) -> usize {
    wanted.map_or(16, |w| w.colors.iter().copied().max().unwrap_or(0) as usize + 16)
}

/// The colour of v, which stands at a place of the order: the wanted one, or the smallest that is not
/// forbidden.
#[inline(always)]
pub(crate) fn choose(
    wanted: Option<Wanted<'_>>,
    place: usize,
    v: u32,
    forbidden: &mut Vec<u32>,
) -> u32 {
    if let Some(Wanted { colors, fixed }) = wanted {
        let color = colors[v as usize];
        if place < fixed || (color > 0 && forbidden[color as usize] != v) {
            return color;
        }
    }
    smallest(forbidden, v)
}
