//! Import cycles: which module names which, and the knots of modules that name each other in a circle.
//!
//! A module is a file; `mod.rs` stands for its folder. `mod x;` imports nothing, `pub use` does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::layering::source::{code_of, words_of};

/// Modules by the path they have in the crate, each with the modules that it imports.
pub type Imports = BTreeMap<String, BTreeSet<String>>;

/// A path in the words of a file, `as` name and visibility included.
struct Mention {
    segments: Vec<String>,
    /// How many inline modules stand around it.
    inline: usize,
    /// What a `use` brings into scope; none for a path in code.
    name: Option<String>,
    /// Whether it is handed on to others.
    public: bool,
}

/// What each of these files imports from the others; each with its path below `src/` and its text.
pub fn imports_of(files: &[(String, String)]) -> Imports {
    let read: Vec<(String, Vec<String>)> = files
        .iter()
        .map(|(path, text)| {
            let words = words_of(&code_of(text)).into_iter().map(|(_, word)| word);
            (module_at(path), words.collect())
        })
        .collect();
    let modules: BTreeSet<&str> = read.iter().map(|(module, _)| module.as_str()).collect();
    let mut macros = BTreeMap::new();
    for (module, words) in &read {
        for three in words.windows(3) {
            if three[0] == "macro_rules" && three[1] == "!" {
                macros.insert(three[2].as_str(), module.as_str());
            }
        }
    }
    read.iter()
        .map(|(module, words)| (module.clone(), imports(module, words, &modules, &macros)))
        .collect()
}

/// `a/b.rs` and `a/b/mod.rs` are `a::b`.
fn module_at(path: &str) -> String {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    path.strip_suffix("/mod").unwrap_or(path).replace('/', "::")
}

fn imports(
    module: &str,
    words: &[String],
    modules: &BTreeSet<&str>,
    macros: &BTreeMap<&str, &str>,
) -> BTreeSet<String> {
    let mentions = mentions(words);
    // Modules that a `use` brought in: what is named through them is imported from them.
    let mut in_scope: BTreeMap<&str, String> = BTreeMap::new();
    for mention in &mentions {
        if let Some(name) = &mention.name {
            let path = absolute(mention, module, modules, &BTreeMap::new()).join("::");
            if modules.contains(path.as_str()) {
                in_scope.insert(name, path);
            }
        }
    }
    let mut found = BTreeSet::new();
    for mention in &mentions {
        let path = absolute(mention, module, modules, &in_scope);
        if let [first, ..] = path.as_slice()
            && let Some(home) = macros.get(first.as_str())
            && mention.segments[0] == "crate"
        {
            found.insert((*home).to_owned());
            continue;
        }
        let Some(depth) = (1..=path.len())
            .rev()
            .find(|depth| modules.contains(path[..*depth].join("::").as_str()))
        else {
            continue;
        };
        // A module brought into scope is a name; what is taken from it is seen where it is taken.
        if depth < path.len() || mention.public {
            found.insert(path[..depth].join("::"));
        }
    }
    found.remove(module);
    found
}

/// The path from the root of the crate; empty for one that leads out of it.
fn absolute(
    mention: &Mention,
    module: &str,
    modules: &BTreeSet<&str>,
    in_scope: &BTreeMap<&str, String>,
) -> Vec<String> {
    let own = || module.split("::").map(str::to_owned);
    let segments = &mention.segments;
    let supers = segments.iter().take_while(|word| *word == "super").count();
    let first = segments[0].as_str();
    if first == "crate" {
        return segments[1..].to_vec();
    }
    if supers > 0 {
        let up = supers.saturating_sub(mention.inline);
        let kept = own().count().saturating_sub(up);
        return own()
            .take(kept)
            .chain(segments[supers..].iter().cloned())
            .collect();
    }
    if first == "self" {
        return own().chain(segments[1..].iter().cloned()).collect();
    }
    if let Some(path) = in_scope.get(first) {
        let path = path.split("::").map(str::to_owned);
        return path.chain(segments[1..].iter().cloned()).collect();
    }
    if modules.contains(format!("{module}::{first}").as_str()) {
        return own().chain(segments.iter().cloned()).collect();
    }
    Vec::new()
}

/// Every path of a file: those of each `use`, braces taken apart, and those in code.
fn mentions(words: &[String]) -> Vec<Mention> {
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    let mut found = Vec::new();
    let (mut depth, mut inline) = (0, Vec::new());
    let mut index = 0;
    while index < words.len() {
        let before = index.checked_sub(1).map_or("", word);
        match word(index) {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inline.retain(|opened| *opened <= depth);
            }
            "mod" if word(index + 2) == "{" => inline.push(depth + 1),
            "use" if word(index + 1) != "<" => {
                let public = before == "pub" || before == ")";
                index += 1;
                use_tree(words, &mut index, &[], &mut |segments, name| {
                    found.push(Mention {
                        segments,
                        inline: inline.len(),
                        name: Some(name),
                        public,
                    });
                });
                continue;
            }
            first if is_name(first) && before != "::" && word(index + 1) == "::" => {
                let mut segments = vec![first.to_owned()];
                while word(index + 1) == "::" && is_name(word(index + 2)) {
                    segments.push(word(index + 2).to_owned());
                    index += 2;
                }
                found.push(Mention {
                    segments,
                    inline: inline.len(),
                    name: None,
                    public: false,
                });
            }
            _ => {}
        }
        index += 1;
    }
    found
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Reads one tree of a `use`, and ends behind it. A `*` counts as a name that is taken from the module.
fn use_tree(
    words: &[String],
    index: &mut usize,
    above: &[String],
    found: &mut impl FnMut(Vec<String>, String),
) {
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    let mut segments = above.to_vec();
    while *index < words.len() {
        match word(*index) {
            "{" => {
                *index += 1;
                while *index < words.len() && word(*index) != "}" {
                    use_tree(words, index, &segments, found);
                    if word(*index) == "," {
                        *index += 1;
                    }
                }
                *index += 1;
                return;
            }
            "," | "}" | ";" => break,
            "as" => *index += 1,
            "::" => {}
            "self" if !segments.is_empty() => {}
            segment => segments.push(segment.to_owned()),
        }
        if word(index.saturating_sub(1)) == "as" {
            let name = word(*index).to_owned();
            *index += 1;
            found(segments, name);
            return;
        }
        *index += 1;
    }
    if let Some(name) = segments.last().cloned() {
        found(segments, name);
    }
}

/// The sets of modules that import each other in a circle, in order.
pub fn knots(imports: &Imports) -> Vec<BTreeSet<String>> {
    let mut importers = Imports::new();
    for (module, imported) in imports {
        for other in imported {
            let of_other = importers.entry(other.clone()).or_default();
            of_other.insert(module.clone());
        }
    }
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for module in imports.keys() {
        if seen.contains(module) {
            continue;
        }
        let (below, above) = (reached(imports, module), reached(&importers, module));
        let knot: BTreeSet<String> = below.intersection(&above).cloned().collect();
        seen.extend(knot.iter().cloned());
        if !knot.is_empty() {
            found.push(knot);
        }
    }
    found
}

/// What is reached from a module in one step or more.
fn reached(graph: &Imports, from: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in graph.get(module).into_iter().flatten() {
            if found.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    found
}

/// The shortest way from a module back to itself.
fn circle(imports: &Imports, module: &str) -> String {
    let mut ways: VecDeque<Vec<&str>> = VecDeque::from([vec![module]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let next = way.last().and_then(|last| imports.get(*last));
        for next in next.into_iter().flatten() {
            let way = [way.as_slice(), &[next.as_str()]].concat();
            if next == module {
                return way.join(" -> ");
            }
            if seen.insert(next) {
                ways.push_back(way);
            }
        }
    }
    module.to_owned()
}

/// What is wrong: every module in a knot, with the shortest way around. A module gets out by moving what two of its
/// neighbours share below both.
pub fn check_cycles(imports: &Imports) -> Vec<String> {
    let knots = knots(imports);
    knots
        .iter()
        .flatten()
        .map(|module| format!("import cycle: {}", circle(imports, module)))
        .collect()
}
