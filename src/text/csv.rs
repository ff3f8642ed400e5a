//! CSV as RFC 4180 has it. No cell of it begins with what a spreadsheet would take for a formula, unless it is a number.

/// What spreadsheets begin a formula with.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// A line of cells, with its end.
pub fn line<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for (at, text) in cells.into_iter().enumerate() {
        if at > 0 {
            line.push(',');
        }
        cell(&mut line, text);
    }
    line.push_str("\r\n");
    line
}

fn cell(line: &mut String, text: &str) {
    let is_formula = text.starts_with(FORMULA) && text.parse::<f64>().is_err();
    let needs_quotes = is_formula || text.contains([',', '"', '\r', '\n']) || text.trim() != text;
    if !needs_quotes {
        line.push_str(text);
        return;
    }
    line.push('"');
    if is_formula {
        line.push('\'');
    }
    line.push_str(&text.replace('"', "\"\""));
    line.push('"');
}
