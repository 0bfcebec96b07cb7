//! `rospin lab latency` from end to end: short, with little load, and without a word about how fast this machine is.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Runs variants of all kinds, and returns what was printed and the figures.
fn measure(variants: &str) -> (String, Value) {
    let folder = std::env::temp_dir().join(format!("rospin-latency-{}-{}", std::process::id(), variants.len()));
    fs::create_dir_all(&folder).expect("a folder");
    let (json, report) = (folder.join("latency.json"), folder.join("latency.html"));
    let output = Command::new(env!("CARGO_BIN_EXE_rospin-lab"))
        .args(["latency", "--duration", "0.4", "--load", "10", "--quiet", "--variants", variants, "--json"])
        .arg(&json)
        .arg("--report")
        .arg(&report)
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figures = serde_json::from_str(&fs::read_to_string(&json).expect("figures")).expect("JSON");
    assert!(fs::read_to_string(&report).expect("a report").ends_with("</html>\n"));
    fs::remove_dir_all(&folder).expect("it is removed");
    (String::from_utf8(output.stdout).expect("UTF-8"), figures)
}

/// Checks what must hold on any machine, with real-time rights and without.
fn check(variants: &str) {
    let (text, figures) = measure(variants);
    let names: Vec<&str> = variants.split(',').collect();
    let rows = figures["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 5 * names.len());
    for row in rows {
        let number = |name: &str| row[name].as_u64().unwrap_or_else(|| panic!("{name} of {row}"));
        assert_eq!(number("sent"), 400_u64.div_ceil(number("period_ms")), "{row}");
        assert!((1..=number("sent")).contains(&number("received")), "{row}");
        assert!(row["max_ms"].as_f64() >= row["wcet_ms"].as_f64(), "{row}");
    }
    for (run, name) in figures["runs"].as_array().expect("runs").iter().zip(&names) {
        assert_eq!(run["variant"], **name);
        let threads = run["threads"]["subscriber"].as_array().expect("threads");
        assert!(!threads.is_empty());
        for thread in threads {
            let has_fifo = thread["scheduling"].as_str().expect("scheduling").contains("FIFO");
            let lacks = !thread["shortfalls"].as_array().expect("shortfalls").is_empty();
            let wanted = !name.starts_with("nort-");
            assert!(has_fifo == wanted || (wanted && lacks), "{name}: {thread}");
        }
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn subscribers_of_r2r() {
    check("futures,futures-rt,nort-futures-join,futures-thread-pool,nort-futures-2-threads");
}

#[test]
fn subscribers_on_tokio() {
    check("tokio,nort-tokio-rt");
}

#[test]
fn subscribers_of_rospin() {
    check("rospin-rt,nort-rospin-single,rospin-edf,wait-set");
}
