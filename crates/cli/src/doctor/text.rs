//! Diagnosis as text for people.

use rospin_report::text_table::{self, Side, terminal_width};

use super::diagnosis::Diagnosis;
use super::finding::{Finding, Verdict};
use super::measure::Microseconds;

/// Returns the findings, then the remedies in lines of at most `width` characters, then the measurements and a summary.
pub(crate) fn render(diagnosis: &Diagnosis, width: usize) -> String {
    let mut text = format!("{}\n{}\n\n", diagnosis.installation.describe(), diagnosis.machine.describe());
    let longest = diagnosis.findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    for finding in &diagnosis.findings {
        text += &format!("{:<11} {:<longest$}  {}\n", finding.verdict.name(), finding.name, finding.value);
    }
    text += &advice(diagnosis, width);
    text += &format!("\n{}\n{}\n", measured(diagnosis), summary(diagnosis));
    text
}

/// Returns a paragraph for each finding that is not good: its meaning and its fix.
fn advice(diagnosis: &Diagnosis, width: usize) -> String {
    let mut findings: Vec<&Finding> = diagnosis.findings.iter().filter(|f| f.verdict != Verdict::Good).collect();
    // The worst findings come first.
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.verdict));
    let paragraph = |finding: &&Finding| {
        let fix = finding.fix.as_deref().map_or(String::new(), |fix| wrap(&format!("-> {fix}"), "     ", width));
        format!("\n{} ({})\n{}{fix}", finding.name, finding.verdict.name(), wrap(&finding.meaning, "  ", width))
    };
    findings.iter().map(paragraph).collect()
}

/// Returns the text in lines of at most `width` characters, each after `indent`. Longer words stay whole.
fn wrap(text: &str, indent: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut line = indent.to_owned();
    for word in text.split_whitespace() {
        let is_begun = line.len() > indent.len();
        if is_begun && line.chars().count() + 1 + word.chars().count() > width {
            lines += &format!("{line}\n");
            line = indent.to_owned();
        } else if is_begun {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines + &line + "\n"
}

/// Returns the table of measurements.
fn measured(diagnosis: &Diagnosis) -> String {
    let measured = &diagnosis.measured;
    let row = |name: &str, us: Microseconds| {
        let number = |value: f64| format!("{value:.2}");
        vec![name.to_owned(), number(us.p50), number(us.p99), number(us.max)]
    };
    let mut rows = vec![row("wake-up, ordinary thread", measured.floor_plain)];
    rows.extend(measured.floor_real_time.map(|floor| row("wake-up, SCHED_FIFO", floor)));
    rows.push(row("rospin: timer due to callback", measured.timer));
    rows.push(row("rospin: message published to callback, parked", measured.notification));
    rows.push(row("rospin: callback to next callback", measured.dispatch));
    rows.push(row("rospin: publication to one subscription", measured.publish));
    let header = [("measured, us", Side::Left), ("p50", Side::Right), ("p99", Side::Right), ("max", Side::Right)];
    text_table::render(&header, &rows)
}

/// Returns a sentence with the number of findings of each bad verdict.
fn summary(diagnosis: &Diagnosis) -> String {
    let count = |verdict| diagnosis.findings.iter().filter(|finding| finding.verdict == verdict).count();
    let core = diagnosis.core;
    match (count(Verdict::Broken), count(Verdict::LimitsYou)) {
        (0, 0) => format!("Nothing limits real time on core {core}."),
        (0, limits) => {
            format!("Real time works on core {core}; {limits} of {} findings limit it.", diagnosis.findings.len())
        }
        (broken, limits) => {
            format!(
                "No real time to rely on, on core {core}: {broken} of {} findings are broken, {limits} limit it.",
                diagnosis.findings.len()
            )
        }
    }
}

/// Returns the text for the terminal of this process: remedies are in lines that fit it, or have 40 characters if it is
/// narrower.
pub(crate) fn render_for_terminal(diagnosis: &Diagnosis) -> String {
    render(diagnosis, terminal_width().max(40))
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn every_finding_is_there_and_the_worst_is_mended_first() {
        let text = render(&testing::diagnosis(), 60);
        let hidden =
            "rospin 0.1.0 for x86_64 linux, /usr/bin/rospin\nIn a shell, `rospin` is another program: /home/me/";
        assert!(text.starts_with(hidden), "{text}");
        assert!(text.contains("good        clock source          tsc"), "{text}");
        let (broken, limits) = (text.find("priorities (broken)").unwrap(), text.find("cores (limits you)").unwrap());
        assert!(broken < limits && text.contains("-> boot with isolcpus=1"), "{text}");
        assert!(text.contains("1 of 3 findings are broken, 1 limit it"), "{text}");
    }

    #[test]
    fn lines_fit_and_words_stay_whole() {
        assert_eq!(wrap("one two three", "  ", 9), "  one two\n  three\n");
        assert_eq!(wrap("isolcpus=domain a", "  ", 9), "  isolcpus=domain\n  a\n");
    }
}
