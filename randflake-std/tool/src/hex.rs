//! Reading and writing of hexadecimal digits.

pub(crate) const LEN: usize = 16;

/// Which digit a byte is, in either case; for others a number with higher bits.
const VALUES: [u8; 256] = {
    let mut values = [FOREIGN; 256];
    let mut digit: u8 = 0;
    while digit < 16 {
        values[b"0123456789abcdef"[digit as usize] as usize] = digit;
        values[b"0123456789ABCDEF"[digit as usize] as usize] = digit;
        digit += 1;
    }
    values
};
const FOREIGN: u8 = 0x80;

/// The number of 1 to 16 digits, which may have `0x` before them.
pub(crate) fn parse(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    if digits.is_empty() {
        return None;
    }
    let digits = match digits.len().checked_sub(LEN) {
        None | Some(0) => digits,
        // Zeros before them are no digits more.
        Some(more) => {
            let (before, digits) = digits.split_at(more);
            before.iter().all(|&byte| byte == b'0').then_some(digits)?
        }
    };
    let (mut number, mut seen) = (0, 0);
    for &byte in digits {
        let value = VALUES[usize::from(byte)];
        number = number << 4 | u64::from(value);
        seen |= value;
    }
    (seen < FOREIGN).then_some(number)
}

/// All 16 digits, in lower case.
pub(crate) fn digits(number: u64) -> [u8; LEN] {
    // Four bits to a byte: groups are halved three times, for both halves of the number.
    let spread = |half: u64| {
        let sixteens = half & 0xFFFF | (half & 0xFFFF_0000) << 16;
        let eights = sixteens & 0x0000_00FF_0000_00FF | (sixteens & 0x0000_FF00_0000_FF00) << 8;
        let fours = eights & 0x000F_000F_000F_000F | (eights & 0x00F0_00F0_00F0_00F0) << 4;
        // A carry to the fifth bit from 10 on.
        let letters = (fours + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
        fours + 0x3030_3030_3030_3030 + letters * u64::from(b'a' - b'9' - 1)
    };
    let both = u128::from(spread(number >> 32)) << 64 | u128::from(spread(number & 0xFFFF_FFFF));
    both.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_standard_library() {
        for shift in 0..64 {
            let number = 0x0123_4567_89AB_CDEF_u64.rotate_left(shift) >> (shift / 2);
            let text = format!("{number:016x}");
            assert_eq!(digits(number), text.as_bytes());
            for text in [
                text,
                format!("{number:x}"),
                format!("0x{number:X}"),
                format!("000{number:016X}"),
            ] {
                assert_eq!(parse(text.as_bytes()), Some(number));
            }
        }
        for text in ["", "0x", "g", "-1", "+1", "10000000000000000", "0x0x1"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
