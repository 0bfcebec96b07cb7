//! `--apply N`: applies one of the changes that the analysis proposes.

use rospin_analysis::{Analysis, AnalysisError, Change};

/// Returns the change with this number, counted from 1 in the order in which changes are shown. `deploys` is true if a
/// deployment file will be written for it.
///
/// # Errors
/// The outer error is one of the analysis. The inner one says that there is no such change, or that no deployment file
/// can make it although one will be written, and how to go on.
pub(super) fn change(
    analysis: &Analysis<'_>,
    number: u16,
    deploys: bool,
) -> Result<Result<Change, String>, AnalysisError> {
    let sensitivity = analysis.sensitivity()?;
    let changes = &sensitivity.changes;
    let Some(change) = changes.get(usize::from(number) - 1) else {
        let told = sensitivity.advice().len();
        return Ok(Err(match changes.len() {
            _ if told == 0 && sensitivity.late.is_empty() => "all deadlines hold already; leave --apply out".to_owned(),
            0 => {
                "no single change of priorities, executors, cores, groups or parts makes all deadlines hold".to_owned()
            }
            count if usize::from(number) <= told => {
                format!(
                    "that one changes the callbacks' own times, in the program; the changes from 1 to {count} can be made"
                )
            }
            count => format!("there are {count} changes that can be made; give a number from 1 to {count}"),
        }));
    };
    if deploys && !change.is_deployable() {
        return Ok(Err(format!(
            "no deployment file can {}; leave --deploy out, or apply another change",
            change.describe()
        )));
    }
    Ok(Ok(change.clone()))
}
