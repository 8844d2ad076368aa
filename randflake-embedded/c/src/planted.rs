//! A fault to be caught.

/// Panics when asked for a byte behind the text.
#[unsafe(no_mangle)]
extern "C" fn rf_text_at(text: &[u8; 14], at: usize) -> u8 {
    text[at]
}
