//! A picture in memory: rectangles and lines of text, and PNG of it.
//!
//! Text is drawn from letters that were rasterised beforehand, of one height; other heights are
//! scaled. They are those of ASCII: any other character shows as `?`, or as what it looks like.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

/// Red, green and blue.
pub(super) type Colour = [u8; 3];

/// Height of the letters as they are stored, pixels.
const STORED: RasterHeight = RasterHeight::Size32;

/// How letters look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Letters {
    /// Height of a line, pixels.
    pub(super) height: f64,
    pub(super) is_bold: bool,
    pub(super) colour: Colour,
}

/// A picture.
pub(super) struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Letters {
    fn weight(self) -> FontWeight {
        if self.is_bold {
            FontWeight::Bold
        } else {
            FontWeight::Regular
        }
    }

    fn scale(self) -> f64 {
        self.height / STORED.val() as f64
    }

    /// Width of a character, pixels.
    pub(super) fn width(self) -> f64 {
        get_raster_width(self.weight(), STORED) as f64 * self.scale()
    }

    /// Characters that fit into a width.
    pub(super) fn fit(self, width: f64) -> usize {
        (width / self.width()) as usize
    }
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize, ground: Colour) -> Self {
        let pixels = ground.repeat(width * height);
        Self {
            width,
            height,
            pixels,
        }
    }

    /// Fills a rectangle, as far as it is in the picture.
    pub(super) fn fill(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), colour: Colour) {
        let end =
            |from: f64, length: f64, most: usize| ((from + length).round() as usize).min(most);
        for row in y.round() as usize..end(y, height, self.height) {
            for column in x.round() as usize..end(x, width, self.width) {
                self.blend(column, row, colour, 1.0);
            }
        }
    }

    /// Writes one line; `y` is its upper edge.
    pub(super) fn write(&mut self, (x, y): (f64, f64), text: &str, letters: Letters) {
        for (index, character) in text.chars().enumerate() {
            let left = x + index as f64 * letters.width();
            if left + letters.width() > self.width as f64 {
                break;
            }
            self.letter((left, y), character, letters);
        }
    }

    fn letter(&mut self, (x, y): (f64, f64), character: char, letters: Letters) {
        let stored = |one| get_raster(one, letters.weight(), STORED);
        let Some(raster) = stored(plainer(character)).or_else(|| stored('?')) else {
            return;
        };
        let scale = letters.scale();
        let covered = |column: f64, row: f64| {
            // Between four stored pixels; beyond the edge there is nothing.
            let (left, top) = (column.floor(), row.floor());
            let (right_share, lower_share) = (column - left, row - top);
            let at = |dx: f64, dy: f64| {
                let (column, row) = (left + dx, top + dy);
                let inside = column >= 0.0 && row >= 0.0;
                let pixel = inside.then(|| raster.pixel(column as usize, row as usize));
                f64::from(pixel.flatten().unwrap_or(0)) / 255.0
            };
            let upper = at(0.0, 0.0) * (1.0 - right_share) + at(1.0, 0.0) * right_share;
            let lower = at(0.0, 1.0) * (1.0 - right_share) + at(1.0, 1.0) * right_share;
            upper * (1.0 - lower_share) + lower * lower_share
        };
        let (first, top) = (x.floor() as usize, y.floor() as usize);
        let last = ((x + letters.width()).ceil() as usize).min(self.width);
        let bottom = ((y + letters.height).ceil() as usize).min(self.height);
        for row in top..bottom {
            for column in first..last {
                let inner = |at: usize, from: f64| (at as f64 + 0.5 - from) / scale - 0.5;
                let share = covered(inner(column, x), inner(row, y));
                self.blend(column, row, letters.colour, share);
            }
        }
    }

    fn blend(&mut self, column: usize, row: usize, colour: Colour, share: f64) {
        let at = (row * self.width + column) * 3;
        let Some(pixel) = self.pixels.get_mut(at..at + 3) else {
            return;
        };
        for (old, new) in pixel.iter_mut().zip(colour) {
            let mixed = f64::from(*old) * (1.0 - share) + f64::from(new) * share;
            *old = mixed.round() as u8;
        }
    }

    /// The picture as PNG.
    pub(super) fn png(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let size = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
        let mut encoder = png::Encoder::new(&mut bytes, size(self.width), size(self.height));
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Balanced);
        // Rows of one colour and letters are smallest as they are.
        encoder.set_filter(png::Filter::NoFilter);
        let written = encoder
            .write_header()
            .and_then(|mut writer| writer.write_image_data(&self.pixels));
        written.expect("memory takes all, and the picture has as many bytes as its size says");
        bytes
    }
}

/// A character of ASCII that looks like this one, where there is one.
fn plainer(character: char) -> char {
    match character {
        'µ' => 'u',
        '×' => 'x',
        '–' | '—' | '−' => '-',
        '’' | '‘' => '\'',
        '“' | '”' => '"',
        '·' => '.',
        other => other,
    }
}

/// Breaks text into at most `lines` lines of `width` characters, at spaces where there are some.
/// What is left out shows as `...`.
pub(super) fn wrapped(text: &str, width: usize, lines: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let mut word: &str = word;
        let length = |text: &str| text.chars().count();
        if !line.is_empty() && length(&line) + 1 + length(word) > width {
            all.push(std::mem::take(&mut line));
        }
        while length(word) > width {
            let at = word
                .char_indices()
                .nth(width)
                .map_or(word.len(), |(at, _)| at);
            all.push(word[..at].to_owned());
            word = &word[at..];
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if all.len() > lines {
            break;
        }
    }
    all.push(line);
    if all.len() > lines {
        all.truncate(lines);
        if let Some(last) = all.last_mut() {
            let kept: String = last.chars().take(width.saturating_sub(3)).collect();
            *last = format!("{}...", kept.trim_end());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_at_spaces_and_cut_at_the_end() {
        assert_eq!(wrapped("one two three", 7, 3), ["one two", "three"]);
        assert_eq!(wrapped("one two three", 7, 1), ["one..."]);
        assert_eq!(wrapped("abcdefghij", 4, 9), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("", 4, 2), [""]);
        assert_eq!(wrapped(&"x ".repeat(100_000), 4, 2), ["x x", "x..."]);
    }

    #[test]
    fn any_text_can_be_drawn_anywhere() {
        let letters = Letters {
            height: 48.0,
            is_bold: true,
            colour: [255; 3],
        };
        let mut canvas = Canvas::new(60, 40, [0; 3]);
        canvas.write((10.0, 20.0), "aé漢\u{202e}", letters);
        canvas.fill((50.0, 30.0), (100.0, 100.0), [1, 2, 3]);
        let png = canvas.png();
        let decoder = png::Decoder::new(std::io::Cursor::new(&png));
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert_eq!(pixels, canvas.pixels);
        assert!(pixels.contains(&255), "something was written");
        assert_eq!(pixels[pixels.len() - 3..], [1, 2, 3]);
    }
}
