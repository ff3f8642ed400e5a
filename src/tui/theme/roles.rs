//! The meanings that can be coloured. Meaning is never carried by colour alone.

use ratatui::style::Style;

macro_rules! roles {
    ($($variant:ident = $name:literal;)+) => {
        /// A meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Role { $(#[doc = $name] $variant),+ }

        impl Role {
            pub const ALL: &'static [Role] = &[$(Role::$variant),+];

            /// Dotted name, as theme files write it.
            pub const fn name(self) -> &'static str {
                match self { $(Role::$variant => $name),+ }
            }
        }
    };
}

roles! {
    Text = "text";
    TextMuted = "text.muted";
    TextStrong = "text.strong";
    Border = "border";
    BorderFocus = "border.focus";
    Title = "title";
    TitleFocus = "title.focus";
    Header = "header";
    HeaderMuted = "header.muted";
    HeaderAttention = "header.attention";
    HeaderDanger = "header.danger";
    Footer = "footer";
    FooterKey = "footer.key";
    FooterDisabled = "footer.disabled";
    Selection = "selection";
    SelectionUnfocused = "selection.unfocused";
    TableHead = "table.head";
    RiskLow = "risk.low";
    RiskMedium = "risk.medium";
    RiskHigh = "risk.high";
    RiskCritical = "risk.critical";
    StateRunning = "state.running";
    StateWaiting = "state.waiting";
    StateIdle = "state.idle";
    StateGood = "state.good";
    StateBad = "state.bad";
    Label = "label";
    Outside = "outside";
    OutsideUser = "outside.user";
    OutsideModel = "outside.model";
    OutsideTool = "outside.tool";
    OutsideCode = "outside.code";
    DiffAdd = "diff.add";
    DiffRemove = "diff.remove";
    DiffHunk = "diff.hunk";
    CodeComment = "code.comment";
    CodeFunction = "code.function";
    CodeKeyword = "code.keyword";
    CodeNumber = "code.number";
    CodeString = "code.string";
    CodeType = "code.type";
    NoticeInfo = "notice.info";
    NoticeWarning = "notice.warning";
    NoticeError = "notice.error";
    SearchMatch = "search.match";
    SearchCurrent = "search.current";
    Dialog = "dialog";
    DialogButton = "dialog.button";
    DialogChosen = "dialog.chosen";
    TextCursor = "cursor";
    Dimmed = "dimmed";
}

/// A loaded theme: one style per role.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    pub name: String,
    styles: Vec<Style>,
}

impl Theme {
    /// A theme without any style: everything in the terminal's own colours.
    pub fn blank(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            styles: vec![Style::new(); Role::ALL.len()],
        }
    }

    pub fn style(&self, role: Role) -> Style {
        self.styles.get(role as usize).copied().unwrap_or_default()
    }

    pub fn set(&mut self, role: Role, style: Style) {
        if let Some(slot) = self.styles.get_mut(role as usize) {
            *slot = style;
        }
    }
}
