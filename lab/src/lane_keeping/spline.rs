//! Road lines as splines: cubic B-splines with uniform knots, fitted to points by least squares.

/// Number of control points of a fitted spline.
pub(crate) const CONTROL_POINTS: usize = 10;
/// Number of control points that influence a point of a cubic spline.
const ORDER: usize = 4;
/// The number that is added to the diagonal of the normal equations, so that they have a solution for few points, too.
const REGULAR: f64 = 1e-9;

/// A curve in the plane: its length in metres, and its control points.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spline {
    pub(crate) length: f64,
    pub(crate) xs: Vec<f64>,
    pub(crate) ys: Vec<f64>,
}

impl Spline {
    /// Returns the spline nearest to the points, which are in the order along the curve.
    pub(crate) fn fit(points: &[(f64, f64)]) -> Self {
        let mut along = Vec::with_capacity(points.len());
        let mut length = 0.0;
        for (index, (x, y)) in points.iter().enumerate() {
            if let Some((before_x, before_y)) = index.checked_sub(1).map(|before| points[before]) {
                length += (x - before_x).hypot(y - before_y);
            }
            along.push(length);
        }
        let mut matrix = [[0.0; CONTROL_POINTS]; CONTROL_POINTS];
        let mut right = [[0.0; 2]; CONTROL_POINTS];
        for ((x, y), at) in points.iter().zip(along) {
            let (first, weights) = weights(CONTROL_POINTS, at / length.max(f64::MIN_POSITIVE));
            for (i, weight) in weights.iter().enumerate() {
                right[first + i][0] += weight * x;
                right[first + i][1] += weight * y;
                for (j, other) in weights.iter().enumerate() {
                    matrix[first + i][first + j] += weight * other;
                }
            }
        }
        let solved = solve(matrix, right);
        Self {
            length,
            xs: solved.iter().map(|value| value[0]).collect(),
            ys: solved.iter().map(|value| value[1]).collect(),
        }
    }

    /// Returns true if the curve has enough control points for [`point`](Self::point).
    pub(crate) fn is_valid(&self) -> bool {
        self.xs.len() >= ORDER && self.xs.len() == self.ys.len() && self.length > 0.0
    }

    /// Returns the point at a share of the length, from 0 to 1.
    pub(crate) fn point(&self, share: f64) -> (f64, f64) {
        let (first, weights) = weights(self.xs.len(), share);
        let sum = |of: &[f64]| weights.iter().zip(&of[first..]).map(|(weight, value)| weight * value).sum();
        (sum(&self.xs), sum(&self.ys))
    }

    /// Returns the y of the curve at `x`, in a frame in which x grows along the curve. Beyond its ends, it is straight.
    pub(crate) fn y_at(&self, x: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..24 {
            let middle = (low + high) / 2.0;
            if self.point(middle).0 < x { low = middle } else { high = middle }
        }
        let (at_x, y) = self.point(f64::midpoint(low, high));
        y + self.slope(low) * (x - at_x)
    }

    /// Returns dy/dx at a share of the length.
    pub(crate) fn slope(&self, share: f64) -> f64 {
        let (from, to) = ((share - 0.005).max(0.0), (share + 0.005).min(1.0));
        let ((x, y), (next_x, next_y)) = (self.point(from), self.point(to));
        (next_y - y) / (next_x - x).max(1e-9)
    }

    /// Returns the curve halfway between two with the same number of control points.
    pub(crate) fn between(&self, other: &Self) -> Self {
        let middle = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| f64::midpoint(*a, *b)).collect();
        Self {
            length: f64::midpoint(self.length, other.length),
            xs: middle(&self.xs, &other.xs),
            ys: middle(&self.ys, &other.ys),
        }
    }
}

/// Returns the first of four control points that make up the point at a share of the length, and their weights.
fn weights(control_points: usize, share: f64) -> (usize, [f64; ORDER]) {
    let spans = control_points - (ORDER - 1);
    let place = share.clamp(0.0, 1.0) * spans as f64;
    let first = (place as usize).min(spans - 1);
    let t = place - first as f64;
    let u = 1.0 - t;
    let (square, cube) = (t * t, t * t * t);
    let weights = [
        u * u * u / 6.0,
        (3.0 * cube - 6.0 * square + 4.0) / 6.0,
        (-3.0 * cube + 3.0 * square + 3.0 * t + 1.0) / 6.0,
        cube / 6.0,
    ];
    (first, weights)
}

/// Solves a symmetric positive definite system with two right sides, by elimination without a change of rows.
fn solve<const N: usize>(mut matrix: [[f64; N]; N], mut right: [[f64; 2]; N]) -> [[f64; 2]; N] {
    for (index, row) in matrix.iter_mut().enumerate() {
        row[index] += REGULAR;
    }
    for pivot in 0..N {
        let (above, above_right) = (matrix[pivot], right[pivot]);
        for row in pivot + 1..N.min(pivot + ORDER) {
            let factor = matrix[row][pivot] / above[pivot];
            matrix[row].iter_mut().zip(above).for_each(|(value, above)| *value -= factor * above);
            right[row].iter_mut().zip(above_right).for_each(|(value, above)| *value -= factor * above);
        }
    }
    for row in (0..N).rev() {
        let mut known = [0.0; 2];
        for (weight, solved) in matrix[row].iter().zip(right).skip(row + 1) {
            known.iter_mut().zip(solved).for_each(|(known, solved)| *known += weight * solved);
        }
        let diagonal = matrix[row][row];
        right[row].iter_mut().zip(known).for_each(|(value, known)| *value = (*value - known) / diagonal);
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bend(x: f64) -> f64 {
        1.75 + 0.002 * x * x - 0.00001 * x * x * x
    }

    fn points() -> Vec<(f64, f64)> {
        (0..60).map(|x| (f64::from(x), bend(f64::from(x)))).collect()
    }

    #[test]
    fn a_fitted_line_is_where_its_points_are() {
        let spline = Spline::fit(&points());
        for x in [0.0, 7.5, 30.0, 58.9] {
            assert!((spline.y_at(x) - bend(x)).abs() < 0.01, "{x}: {} {}", spline.y_at(x), bend(x));
        }
        assert!((spline.slope(0.5) - 0.09).abs() < 0.02, "{}", spline.slope(0.5));
    }

    #[test]
    fn noise_is_averaged() {
        let noisy: Vec<_> =
            points().iter().enumerate().map(|(n, (x, y))| (*x, y + if n % 2 == 0 { 0.05 } else { -0.05 })).collect();
        let spline = Spline::fit(&noisy);
        assert!((5..55).all(|x| (spline.y_at(f64::from(x)) - bend(f64::from(x))).abs() < 0.02));
    }

    #[test]
    fn the_middle_is_halfway() {
        let left = Spline::fit(&points());
        let right = Spline::fit(&points().iter().map(|(x, y)| (*x, y - 3.5)).collect::<Vec<_>>());
        assert!((left.between(&right).y_at(20.0) - (bend(20.0) - 1.75)).abs() < 0.01);
    }

    #[test]
    fn beyond_its_ends_a_line_is_straight() {
        let spline = Spline::fit(&points());
        assert!((spline.y_at(-2.0) - bend(0.0)).abs() < 0.1);
        assert!(spline.is_valid() && !Spline::default().is_valid());
    }
}
