//! Student's t distribution, by the incomplete beta function.

/// Terms of the continued fraction; it converges in about the square root of the degrees.
const TERMS_MAX: usize = 400;
/// What a continued fraction's part may not be below.
const TINY: f64 = 1e-300;
/// Coefficients of Lanczos's approximation of the gamma function with g = 7 and nine terms.
const LANCZOS: [f64; 9] = [
    0.999_999_999_999_809_9,
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];

/// Chance that a t variable of `degrees` degrees of freedom lies above `t`.
pub fn student_tail(t: f64, degrees: f64) -> f64 {
    let share = degrees / (degrees + t * t);
    let half = incomplete_beta(degrees / 2.0, 0.5, share) / 2.0;
    if t >= 0.0 { half } else { 1.0 - half }
}

/// The t above which a variable of `degrees` degrees of freedom lies with chance `tail`, for a
/// tail of up to one half. Infinite for a tail of nothing.
pub fn student_point(tail: f64, degrees: f64) -> f64 {
    if tail <= 0.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 2.0);
    while student_tail(high, degrees) > tail && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if student_tail(middle, degrees) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// The regularised incomplete beta function, by Lentz's continued fraction (Press and others,
/// *Numerical Recipes*, 6.4).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    if x < (a + 1.0) / (a + b + 2.0) {
        front.exp() * beta_fraction(a, b, x) / a
    } else {
        1.0 - front.exp() * beta_fraction(b, a, 1.0 - x) / b
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let away = |part: f64| if part.abs() < TINY { TINY } else { part };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for term in 1..=TERMS_MAX {
        let m = term as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// Logarithm of the gamma function of a positive number (Lanczos 1964).
fn ln_gamma(x: f64) -> f64 {
    let x = x - 1.0;
    let series = LANCZOS[1..]
        .iter()
        .zip(1..)
        .fold(LANCZOS[0], |sum, (coefficient, place)| {
            sum + coefficient / (x + f64::from(place))
        });
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + series.ln()
}
