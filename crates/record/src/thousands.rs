//! How large numbers are written in sentences, which every crate that explains does the same way.

/// The digits of a whole number with its thousands apart: `1,234,567`.
pub fn thousands(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_stands_before_each_three_digits() {
        let check = |digits: &str, expected: &str| assert_eq!(thousands(digits), expected);
        check("0", "0");
        check("999", "999");
        check("1000", "1,000");
        check("70730", "70,730");
        check("1234567", "1,234,567");
        check("", "");
    }
}
