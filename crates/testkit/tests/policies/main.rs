//! Policies and the scheduler against the reference: one program, because linking one takes longer than compiling most
//! of these files.

mod contract;
mod custom_policy;
mod every_policy;
mod fairness;
mod golden;
mod mutants;
mod regressions;
mod starvation;
