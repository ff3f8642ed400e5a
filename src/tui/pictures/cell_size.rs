//! The size of a cell in pixels, as the terminal reports it.

/// Pixels of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CellSize {
    /// Wide.
    pub width: u16,
    /// High.
    pub height: u16,
}

impl CellSize {
    /// A size that a cell can have.
    pub fn of(width: u32, height: u32) -> Option<Self> {
        let side = |side: u32| {
            u16::try_from(side)
                .ok()
                .filter(|side| (1..=500).contains(side))
        };
        let (width, height) = (side(width)?, side(height)?);
        Some(Self { width, height })
    }

    /// The size of a cell in a window of these pixels and cells. Where the window has a border, some pixels are of no
    /// cell: then it is taken to be a pixel smaller, so that no picture is larger than its cells.
    pub fn in_window(pixels: (u32, u32), (columns, rows): (u16, u16)) -> Option<Self> {
        let (columns, rows) = (u32::from(columns).max(1), u32::from(rows).max(1));
        let (width, height) = (pixels.0 / columns, pixels.1 / rows);
        let has_border = pixels.0 % columns + pixels.1 % rows > 0;
        let less = u32::from(has_border);
        Self::of(width.saturating_sub(less), height.saturating_sub(less))
    }
}

impl Default for CellSize {
    fn default() -> Self {
        let (width, height) = (10, 20);
        Self { width, height }
    }
}
