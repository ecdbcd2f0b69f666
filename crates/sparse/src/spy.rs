//! Pictures of patterns.

use crate::{Index, Pattern};

/// A picture of a pattern in Braille characters, two columns and four rows of dots each, scaled down
/// to at most `width` characters a line.
///
/// ```
/// use cotangent_sparse::{Pattern, spy};
///
/// let diagonal = Pattern::from_entries(8, 8, (0..8).map(|i| (i, i))).unwrap();
/// assert_eq!(spy(&diagonal, 40), "⠑⢄⠀⠀\n⠀⠀⠑⢄\n");
/// ```
pub fn spy<I: Index>(pattern: &Pattern<I>, width: usize) -> String {
    let (nrows, ncols) = (pattern.nrows(), pattern.ncols());
    if nrows == 0 || ncols == 0 || width == 0 {
        return String::new();
    }
    // Dots are square, so rows and columns share the scale.
    let scale = (ncols.max(nrows) as f64 / (2 * width) as f64).max(1.0);
    let dots = |n: usize| ((n as f64 / scale).ceil() as usize).max(1);
    let (width, height) = (dots(ncols).div_ceil(2), dots(nrows).div_ceil(4));
    let mut cells = vec![0u32; width * height];
    for (row, column) in pattern.entries() {
        let (y, x) = ((row as f64 / scale) as usize, (column as f64 / scale) as usize);
        // The dots of a Braille cell are numbered down the columns, the fourth row last.
        let bit = match (x % 2, y % 4) {
            (0, 3) => 6,
            (1, 3) => 7,
            (x, y) => 3 * x + y,
        };
        cells[(y / 4) * width + x / 2] |= 1 << bit;
    }
    let mut picture = String::with_capacity((3 * width + 1) * height);
    for line in cells.chunks(width) {
        picture.extend(line.iter().filter_map(|cell| char::from_u32(0x2800 + cell)));
        picture.push('\n');
    }
    picture
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_seen_at_every_scale() {
        let p = Pattern::from_entries(1000, 700, [(999, 699), (0, 0), (500, 3)]).unwrap();
        for width in [1, 2, 7, 40, 1000] {
            let picture = spy(&p, width);
            assert!(picture.lines().all(|l| l.chars().count() <= width));
            let dots: u32 =
                picture.chars().filter(|c| *c != '\n').map(|c| (c as u32).count_ones()).sum();
            assert!(dots > 0);
        }
        assert_eq!(spy(&Pattern::dense(0, 4), 10), "");
    }
}
