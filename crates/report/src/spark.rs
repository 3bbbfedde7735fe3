//! A course of values in one line of text.

/// Eighths of a character cell.
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// `values` in `width` characters at most, each as high as the mean of its share of them, from zero to the greatest. What is
/// no number, or below zero, is at the bottom.
pub fn spark(values: &[f64], width: usize) -> String {
    let cells = values.len().min(width);
    let sane = |value: &f64| if value.is_finite() { value.max(0.0) } else { 0.0 };
    let mean = |cell: usize| {
        let share = &values[cell * values.len() / cells..(cell + 1) * values.len() / cells];
        share.iter().map(sane).sum::<f64>() / share.len() as f64
    };
    let means: Vec<f64> = (0..cells).map(mean).collect();
    let most = means.iter().copied().fold(0.0, f64::max);
    let step = |value: &f64| {
        let eighth = if most > 0.0 { (value / most * 8.0).ceil() as usize } else { 0 };
        STEPS[eighth.clamp(1, 8) - 1]
    };
    means.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fall_is_seen_in_any_width() {
        let fall: Vec<f64> = (0..100).map(|at| if at < 50 { 600.0 } else { 75.0 }).collect();
        assert_eq!(spark(&fall, 4), "██▁▁");
        assert_eq!(spark(&fall[48..52], 20), "██▁▁");
        assert_eq!(spark(&[1.0, 2.0, 4.0, 8.0], 4), "▁▂▄█");
    }

    #[test]
    fn nothing_and_what_is_no_number_break_nothing() {
        assert_eq!(spark(&[], 10), "");
        assert_eq!(spark(&[1.0], 0), "");
        assert_eq!(spark(&[0.0, f64::NAN, -1.0], 10), "▁▁▁");
    }
}
