//! A response cut at any bytes: never a panic, and the same however it is cut.

#![no_main]

use bakeoff_wire::h1::{HeadMemo, ResponseReader};
use libfuzzer_sys::fuzz_target;

/// What reading came to: status and body length, or the rule that was broken.
fn read(input: &[u8], cut: usize, memo: &mut HeadMemo) -> Result<Option<(u16, u64)>, String> {
    let mut reader = ResponseReader::default();
    reader.expect(false);
    let mut body_bytes = 0;
    for part in input.chunks(cut) {
        let progress = reader
            .handle(part, memo, &mut |bytes| body_bytes += bytes.len() as u64)
            .map_err(|violation| violation.to_string())?;
        assert!(progress.consumed <= part.len());
        if let Some(response) = progress.response {
            assert_eq!(response.body_bytes, body_bytes);
            return Ok(Some((response.status, body_bytes)));
        }
    }
    Ok(reader.handle_end().ok().map(|response| (response.status, response.body_bytes)))
}

fuzz_target!(|data: (u8, &[u8])| {
    let (cut, input) = data;
    let mut memo = HeadMemo::default();
    let whole = read(input, input.len().max(1), &mut memo);
    let again = read(input, input.len().max(1), &mut memo);
    assert_eq!(whole, again, "the memo changes nothing");
    let cut_up = read(input, usize::from(cut).max(1), &mut memo);
    // Cut up, a broken head may be found out earlier or later, but a good one stays good.
    if whole.is_ok() && cut_up.is_ok() {
        assert_eq!(whole, cut_up);
    }
});
