//! The planner: a model-predictive controller that plans the curvature of the path ahead, as a quadratic program.
//!
//! Along the path, in steps of equal length, the state is the offset to the side and the heading, and the input the
//! curvature. The program weighs the distance from the lane's middle against changes of the curvature, within the
//! lane's width.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, ZeroConeT};

/// Distance in metres that a plan covers.
pub(crate) const AHEAD: f64 = 60.0;
/// Number of steps of a plan of the usual length, which takes about 8 ms in a release build.
pub(crate) const STEPS: usize = 560;

/// Weight of the distance from the lane's middle, for each metre of the path.
const WEIGHT_OFFSET: f64 = 1.0;
/// Weight of the change of the curvature along the path.
const WEIGHT_BEND: f64 = 1e6;
/// Largest distance from the lane's middle in metres, and largest curvature in 1/m.
const LIMITS: [f64; 2] = [1.5, 0.05];

/// Beginning of a plan: the car in the frame of the road lines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Begin {
    /// Offset to the left in metres.
    pub(crate) offset: f64,
    /// Heading in radians.
    pub(crate) heading: f64,
    /// Curvature of the path in 1/m.
    pub(crate) curvature: f64,
}

/// A plan: offsets and curvatures at equal distances along the path.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    /// Distance in metres between two entries.
    pub(crate) step: f64,
    /// Offsets in metres, in the frame of the road lines.
    pub(crate) offsets: Vec<f64>,
    /// Curvatures in 1/m.
    pub(crate) curvatures: Vec<f64>,
}

impl Plan {
    /// Returns the curvature so many metres from the plan's beginning: that of its ends beyond them; `None` without a
    /// plan.
    pub(crate) fn curvature(&self, distance: f64) -> Option<f64> {
        let place = (distance / self.step.max(f64::MIN_POSITIVE)).max(0.0) as usize;
        self.curvatures.get(place).or_else(|| self.curvatures.last()).copied()
    }
}

/// Plans the path of so many steps from `begin` on. `middle` is the offset of the lane's middle at a distance ahead in
/// metres. Returns `None` if there is no path within the limits.
pub(crate) fn plan(begin: Begin, steps: usize, middle: impl Fn(f64) -> f64) -> Option<Plan> {
    let ds = AHEAD / steps as f64;
    let middles: Vec<f64> = (1..=steps).map(|step| middle(step as f64 * ds)).collect();
    let program = Program { steps, ds };
    let (matrix, right) = program.constraints(begin, &middles);
    let (hessian, linear) = program.cost(begin, &middles);
    let cones = [ZeroConeT(2 * steps), NonnegativeConeT(4 * steps)];
    let settings = DefaultSettings { verbose: false, ..DefaultSettings::default() };
    let mut solver = DefaultSolver::new(&hessian, &linear, &matrix, &right, &cones, settings).ok()?;
    solver.solve();
    let found = matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved);
    found.then(|| Plan {
        step: ds,
        offsets: solver.solution.x[..steps].to_vec(),
        curvatures: solver.solution.x[2 * steps..].to_vec(),
    })
}

/// Shape of the quadratic program. Its variables are the offsets and headings after each step, then the curvature of
/// each step.
struct Program {
    steps: usize,
    ds: f64,
}

impl Program {
    /// Returns the Hessian's upper triangle and the linear part of the cost.
    fn cost(&self, begin: Begin, middles: &[f64]) -> (CscMatrix<f64>, Vec<f64>) {
        let (n, ds) = (self.steps, self.ds);
        let offset = 2.0 * WEIGHT_OFFSET * ds;
        // The integral of the square of the change by length.
        let bend = 2.0 * WEIGHT_BEND / ds;
        let mut entries = Entries::default();
        let mut linear = vec![0.0; 3 * n];
        for (i, middle) in middles.iter().enumerate() {
            entries.push(i, i, offset);
            linear[i] = -offset * middle;
            let is_last = i + 1 == n;
            entries.push(2 * n + i, 2 * n + i, if is_last { bend } else { 2.0 * bend });
            if i > 0 {
                entries.push(2 * n + i - 1, 2 * n + i, -bend);
            }
        }
        linear[2 * n] = -bend * begin.curvature;
        (entries.into_matrix(3 * n, 3 * n), linear)
    }

    /// Returns the matrix and the right side of the constraints: the dynamics, then the limits.
    fn constraints(&self, begin: Begin, middles: &[f64]) -> (CscMatrix<f64>, Vec<f64>) {
        let (n, ds) = (self.steps, self.ds);
        let mut entries = Entries::default();
        let mut right = vec![0.0; 6 * n];
        for (i, middle) in middles.iter().enumerate() {
            let (offset, heading, curvature) = (i, n + i, 2 * n + i);
            // The offset after the step, and the heading after it.
            entries.push(i, offset, 1.0);
            entries.push(i, curvature, -ds * ds / 2.0);
            entries.push(n + i, heading, 1.0);
            entries.push(n + i, curvature, -ds);
            if i == 0 {
                right[0] = begin.offset + ds * begin.heading;
                right[n] = begin.heading;
            } else {
                entries.push(i, offset - 1, -1.0);
                entries.push(i, heading - 1, -ds);
                entries.push(n + i, heading - 1, -1.0);
            }
            for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
                let row = 2 * n + 2 * side * n + i;
                entries.push(row, offset, sign);
                right[row] = LIMITS[0] + sign * middle;
                entries.push(row + n, curvature, sign);
                right[row + n] = LIMITS[1];
            }
        }
        (entries.into_matrix(6 * n, 3 * n), right)
    }
}

/// Entries of a sparse matrix.
#[derive(Default)]
struct Entries {
    rows: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
}

impl Entries {
    fn push(&mut self, row: usize, column: usize, value: f64) {
        self.rows.push(row);
        self.columns.push(column);
        self.values.push(value);
    }

    fn into_matrix(self, rows: usize, columns: usize) -> CscMatrix<f64> {
        CscMatrix::new_from_triplets(rows, columns, self.rows, self.columns, self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_straight_road_it_goes_back_to_the_middle() {
        let plan = plan(Begin { offset: 0.5, ..Begin::default() }, 60, |_| 0.0).unwrap();
        assert!(plan.curvatures[0] < 0.0, "to the right");
        let end = plan.offsets.last().unwrap();
        assert!(end.abs() < 0.1, "{end}");
    }

    #[test]
    fn in_a_bend_it_plans_the_bends_curvature() {
        let curvature = 1.0 / 250.0;
        let begin = Begin { curvature, ..Begin::default() };
        let plan = plan(begin, 60, |x| curvature * x * x / 2.0).unwrap();
        let worst = plan.curvatures.iter().map(|planned| (planned - curvature).abs()).fold(0.0, f64::max);
        assert!(worst < 2e-4, "{worst}");
        assert_eq!(plan.curvature(-3.0), Some(plan.curvatures[0]));
        assert_eq!(plan.curvature(1e9), plan.curvatures.last().copied());
    }

    #[test]
    fn the_number_of_steps_hardly_changes_the_plan() {
        let begin = Begin { offset: -0.3, ..Begin::default() };
        let [few, many] = [60, 240].map(|steps| plan(begin, steps, |_| 0.0).unwrap());
        let [few, many] = [few, many].map(|plan| plan.curvature(10.0).unwrap());
        assert!((few - many).abs() < 0.1 * few.abs(), "{few} {many}");
    }

    #[test]
    fn no_path_is_better_than_one_outside_the_lane() {
        assert!(plan(Begin { offset: 3.0, ..Begin::default() }, 60, |_| 0.0).is_none());
        assert!(Plan::default().curvature(1.0).is_none());
    }
}
