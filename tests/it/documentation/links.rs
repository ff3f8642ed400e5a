//! What README.md, CONTRIBUTING.md, SECURITY.md and the book lead to is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::documentation::{read, root};

/// Lines that README.md may have.
const README_LINES: usize = 200;

/// Folders of this repository that texts name files of.
const FOLDERS: &[&str] = &[
    "src/", "tests/", "docs/", "benches/", "keymaps/", "themes/", ".ci/",
];

fn book() -> PathBuf {
    root().join("docs/src")
}

/// Every Markdown file of the book, in order.
fn chapters(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("a folder of the book") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(chapters(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.insert(path);
        }
    }
    found
}

/// Every text of the repository that people read.
pub fn texts() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
        .iter()
        .map(|name| root().join(name))
        .collect();
    files.extend(chapters(&book()));
    files
}

/// The lines outside of fences.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// A line in parts: what stands outside of code, and what stands in it.
fn parts(line: &str) -> (String, Vec<&str>) {
    let mut plain = String::new();
    let mut code = Vec::new();
    for (index, part) in line.split('`').enumerate() {
        if index % 2 == 0 {
            plain.push_str(part);
        } else {
            code.push(part);
        }
    }
    (plain, code)
}

/// Where the links of a text lead.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in lines(text) {
        let (plain, _) = parts(line);
        let mut rest = plain.as_str();
        while let Some((_, link)) = rest.split_once("](") {
            let (target, after) = link.split_once(')').expect("a link ends on its line");
            found.push(target.to_owned());
            rest = after;
        }
    }
    found
}

/// The anchors of a text, as forges and mdBook make them of headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in lines(text).filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let anchor: String = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        found.insert(anchor);
    }
    found
}

/// What is wrong with a link of a file; none = it leads somewhere.
fn fault(file: &Path, target: &str) -> Option<String> {
    if target.starts_with("https://") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = file.parent().expect("a folder");
    let path = if path.is_empty() {
        file.to_owned()
    } else {
        folder.join(path)
    };
    let Ok(path) = path.canonicalize() else {
        return Some("leads to no file".to_owned());
    };
    let inside = book().canonicalize().expect("the book");
    if file.starts_with(book()) && !path.starts_with(inside) {
        return Some("leads out of the book: mdBook cannot follow it".to_owned());
    }
    let found = anchor.is_empty() || anchors(&read(&path)).contains(anchor);
    (!found).then(|| "leads to no heading".to_owned())
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut faults = Vec::new();
    let mut count = 0;
    for file in texts() {
        for target in targets(&read(&file)) {
            count += 1;
            if let Some(fault) = fault(&file, &target) {
                faults.push(format!("{}: {target} {fault}", file.display()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(count > 50, "only {count} links were found");
}

#[test]
fn every_file_that_a_text_names_or_includes_is_there() {
    let mut missing = Vec::new();
    let mut count = 0;
    for file in texts() {
        let text = read(&file);
        for line in lines(&text) {
            for name in parts(line).1 {
                let name = name.split([' ', ':']).next().unwrap_or(name);
                let ours = FOLDERS.iter().any(|folder| name.starts_with(folder));
                // A word in capitals stands for a name that the reader chooses.
                if !ours || name.contains("NAME") || name.contains('*') || name.contains('…') {
                    continue;
                }
                count += 1;
                if !root().join(name).exists() {
                    missing.push(format!("{}: `{name}`", file.display()));
                }
            }
        }
        for include in text.split("{{#include ").skip(1) {
            let (name, _) = include.split_once("}}").expect("the end of an include");
            // Behind a colon stands which lines of the file.
            let name = name.split(':').next().unwrap_or(name);
            if !file.parent().expect("a folder").join(name).is_file() {
                missing.push(format!("{}: {name}", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
    assert!(count > 50, "only {count} names were found");
}

#[test]
fn every_page_stands_in_the_summary_once() {
    let summary = book().join("SUMMARY.md");
    let mut listed: Vec<PathBuf> = targets(&read(&summary))
        .iter()
        .map(|target| book().join(target))
        .collect();
    let count = listed.len();
    listed.sort();
    listed.dedup();
    assert_eq!(listed.len(), count, "a page stands in SUMMARY.md twice");
    let missing: Vec<PathBuf> = chapters(&book())
        .into_iter()
        .filter(|page| *page != summary && !listed.contains(page))
        .collect();
    assert!(missing.is_empty(), "not in SUMMARY.md: {missing:?}");
}

#[test]
fn the_readme_is_short() {
    let lines = read(&root().join("README.md")).lines().count();
    assert!(
        lines <= README_LINES,
        "README.md has {lines} lines of at most {README_LINES}: move text into docs/src"
    );
}

#[test]
fn the_architecture_is_short() {
    let page = read(&book().join("develop/architecture.md"));
    let lines = page.lines().count();
    assert!(
        lines <= 200,
        "architecture.md has {lines} lines of at most 200"
    );
}

#[test]
fn the_console_page_names_every_shipped_theme_and_keymap() {
    use leverframe::tui::assets::{KEYMAPS, THEMES};
    let page = read(&book().join("guide/console.md"));
    for (name, _) in THEMES.iter().chain(KEYMAPS) {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}
