//! Text that has to fit: for messages and views alike.

/// At most `width` characters; what is cut shows as `…`.
pub fn short(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}
