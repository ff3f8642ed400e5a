//! Theme files: `inherits`, `[palette]` names, `[roles]` styles. A role that a file does not name takes
//! the style of its dotted parent, so a theme written today has every role of tomorrow. Names of the palette
//! are looked up last, so that a theme which only names other colours recolours what it inherits.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use ratatui::style::{Color, Modifier, Style};
use serde::Serialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::tui::assets::{self, AssetError, AssetKind, Source};
use crate::tui::theme::depth::{ColorDepth, reduce_style};
use crate::tui::theme::roles::{Role, Theme};

/// What a role can be beside coloured.
const MODIFIERS: &[(&str, Modifier)] = &[
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underlined", Modifier::UNDERLINED),
    ("reversed", Modifier::REVERSED),
];

/// What a file and its parents say, before roles fall back and colours are reduced.
#[derive(Debug, Default)]
struct Raw {
    palette: BTreeMap<String, Color>,
    styles: BTreeMap<String, Written>,
}

/// A style as a file writes it.
#[derive(Debug, Clone, Default)]
struct Written {
    fg: Option<Paint>,
    bg: Option<Paint>,
    modifiers: Modifier,
}

/// A colour as a file writes it.
#[derive(Debug, Clone)]
enum Paint {
    /// This one.
    Fixed(Color),
    /// Whatever the palette calls so in the end.
    Named(String),
}

impl Raw {
    fn style(&self, written: &Written) -> Style {
        let color = |paint: &Option<Paint>| match paint {
            Some(Paint::Fixed(color)) => Some(*color),
            Some(Paint::Named(name)) => self.palette.get(name).copied(),
            None => None,
        };
        Style {
            fg: color(&written.fg),
            bg: color(&written.bg),
            ..Style::new()
        }
        .add_modifier(written.modifiers)
    }
}

/// Loads a theme by name for a terminal of this depth: the user's file first, then the shipped one.
pub fn load(name: &str, user_dir: Option<&Path>, depth: ColorDepth) -> Result<Theme, AssetError> {
    let source = assets::find(AssetKind::Theme, name, user_dir)?;
    parse(name, &source, user_dir, depth)
}

pub fn parse(
    name: &str,
    source: &Source,
    user_dir: Option<&Path>,
    depth: ColorDepth,
) -> Result<Theme, AssetError> {
    let raw = parse_raw(name, source, user_dir, 0)?;
    let mut theme = Theme::blank(name);
    let ground = with_fallback(&raw, Role::Text).bg;
    for role in Role::ALL {
        let mut style = with_fallback(&raw, *role);
        // Without colours only what stands out from the ground is reversed, not the ground itself.
        if depth == ColorDepth::None && style.bg == ground {
            style.bg = None;
        }
        theme.set(*role, reduce_style(style, depth));
    }
    Ok(theme)
}

/// The role's own style, else its nearest ancestor's, else none.
fn with_fallback(raw: &Raw, role: Role) -> Style {
    let mut name = role.name();
    loop {
        if let Some(written) = raw.styles.get(name) {
            return raw.style(written);
        }
        match name.rsplit_once('.') {
            Some((parent, _)) => name = parent,
            None => return Style::new(),
        }
    }
}

fn parse_raw(
    name: &str,
    source: &Source,
    user_dir: Option<&Path>,
    depth: usize,
) -> Result<Raw, AssetError> {
    let document = DeTable::parse(&source.text).map_err(|error| source.syntax_error(&error))?;
    let root = document.get_ref();
    let mut raw = Raw::default();
    if let Some(inherits) = root.get("inherits") {
        let kind = AssetKind::Theme;
        let own = (name, source);
        let (parent, found) = assets::parent(kind, own, user_dir, depth, inherits)?;
        raw = parse_raw(parent, &found, user_dir, depth + 1)?;
    }
    if let Some(palette) = root.get("palette") {
        for (color_name, value) in table(source, palette, "palette")? {
            let color = color(source, &raw, value)?;
            raw.palette.insert(color_name.get_ref().to_string(), color);
        }
    }
    for (key, value) in root {
        match key.get_ref().as_ref() {
            "inherits" | "palette" => {}
            "roles" => {
                for (role_name, value) in table(source, value, "roles")? {
                    let role = role(source, role_name)?;
                    let style = style(source, &raw, value)?;
                    raw.styles.insert(role, style);
                }
            }
            word => {
                return Err(source.error(
                    key.span().start,
                    format!("`{word}` is not part of a theme; expected inherits, palette or roles"),
                ));
            }
        }
    }
    Ok(raw)
}

fn table<'a, 'i>(
    source: &Source,
    value: &'a Spanned<DeValue<'i>>,
    name: &str,
) -> Result<&'a DeTable<'i>, AssetError> {
    value
        .get_ref()
        .as_table()
        .ok_or_else(|| source.error(value.span().start, format!("`{name}` must be a table")))
}

/// A role, or the dotted beginning of one.
fn role(source: &Source, name: &Spanned<std::borrow::Cow<'_, str>>) -> Result<String, AssetError> {
    let word = name.get_ref().as_ref();
    let begins = |role: &Role| {
        role.name()
            .strip_prefix(word)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if Role::ALL.iter().any(begins) {
        return Ok(word.to_owned());
    }
    let near = assets::nearest(word, Role::ALL.iter().map(|r| r.name()));
    let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    Err(source.error(name.span().start, format!("`{word}` is not a role{hint}")))
}

fn color(source: &Source, raw: &Raw, value: &Spanned<DeValue<'_>>) -> Result<Color, AssetError> {
    let fail = |message: String| source.error(value.span().start, message);
    let Some(word) = value.get_ref().as_str() else {
        return Err(fail(
            "a colour must be text, for example \"#7aa2f7\" or \"blue\"".to_owned(),
        ));
    };
    if let Some(color) = raw.palette.get(word) {
        return Ok(*color);
    }
    if word == "default" {
        return Ok(Color::Reset);
    }
    Color::from_str(word).map_err(|_| {
        let hint = assets::nearest(word, raw.palette.keys().map(String::as_str)).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        fail(format!("`{word}` is not a colour: expected #rrggbb, a number 0 to 255, one of the 16 names, `default`, or a name of [palette]{hint}"))
    })
}

/// A colour of a role. What the palette names stays a name: a theme that inherits this one may change it.
fn paint(source: &Source, raw: &Raw, value: &Spanned<DeValue<'_>>) -> Result<Paint, AssetError> {
    let color = color(source, raw, value)?;
    Ok(match value.get_ref().as_str() {
        Some(word) if raw.palette.contains_key(word) => Paint::Named(word.to_owned()),
        Some(_) | None => Paint::Fixed(color),
    })
}

fn style(source: &Source, raw: &Raw, value: &Spanned<DeValue<'_>>) -> Result<Written, AssetError> {
    let mut style = Written::default();
    let Some(table) = value.get_ref().as_table() else {
        style.fg = Some(paint(source, raw, value)?);
        return Ok(style);
    };
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "fg" => style.fg = Some(paint(source, raw, value)?),
            "bg" => style.bg = Some(paint(source, raw, value)?),
            "modifiers" => {
                let Some(words) = value.get_ref().as_array() else {
                    return Err(source.error(
                        value.span().start,
                        "`modifiers` must be a list, for example [\"bold\"]",
                    ));
                };
                for word in words {
                    style.modifiers |= modifier(source, word)?;
                }
            }
            word => {
                return Err(source.error(
                    key.span().start,
                    format!("`{word}` is not part of a style; expected fg, bg or modifiers"),
                ));
            }
        }
    }
    Ok(style)
}

fn modifier(source: &Source, value: &Spanned<DeValue<'_>>) -> Result<Modifier, AssetError> {
    let word = value.get_ref().as_str();
    let known = MODIFIERS.iter().find(|(name, _)| Some(*name) == word);
    known.map(|(_, modifier)| *modifier).ok_or_else(|| {
        source.error(
            value.span().start,
            "a modifier is one of bold, dim, italic, underlined, reversed",
        )
    })
}

/// A role with its style in the words of a theme file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoleLine {
    /// Dotted name.
    pub role: &'static str,
    /// Colour of the text; none = the terminal's own, or what lies below.
    pub fg: Option<String>,
    /// Colour of the ground; the same.
    pub bg: Option<String>,
    /// bold, dim, italic, underlined, reversed.
    pub modifiers: Vec<&'static str>,
}

/// Every role of a theme, for printing.
pub fn describe(theme: &Theme) -> Vec<RoleLine> {
    let color = |color: Option<Color>| {
        color
            .filter(|color| *color != Color::Reset)
            .map(|color| color.to_string().to_lowercase())
    };
    Role::ALL
        .iter()
        .map(|role| {
            let style = theme.style(*role);
            RoleLine {
                role: role.name(),
                fg: color(style.fg),
                bg: color(style.bg),
                modifiers: MODIFIERS
                    .iter()
                    .filter(|(_, modifier)| style.add_modifier.contains(*modifier))
                    .map(|(word, _)| *word)
                    .collect(),
            }
        })
        .collect()
}

/// The shipped default theme. Its validity is a test; a broken one yields no colours.
pub fn default_theme(depth: ColorDepth) -> Theme {
    load("terminal", None, depth).unwrap_or_else(|_| Theme::blank("terminal"))
}
