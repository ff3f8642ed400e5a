//! Audit & log, drawn.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::state::app::State;
use crate::tui::theme::roles::Theme;

/// Draws the screen.
pub fn draw(_state: &State, _theme: &Theme, _area: Rect, _buf: &mut Buffer) {}
