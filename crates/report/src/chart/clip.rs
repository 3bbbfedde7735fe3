//! The part of a polyline that lies within the plot.

/// A point in the plot's square: 0 to 1 from left to right and from bottom to top, beyond it outside.
pub(super) type Place = (f64, f64);

/// Pieces of the polyline through `places` that lie within the unit square.
pub(super) fn polyline(places: &[Place]) -> Vec<Vec<Place>> {
    let mut pieces: Vec<Vec<Place>> = Vec::new();
    for pair in places.windows(2) {
        let Some((from, to)) = segment(pair[0], pair[1]) else { continue };
        match pieces.last_mut() {
            Some(piece) if piece.last() == Some(&from) => piece.push(to),
            _ => pieces.push(vec![from, to]),
        }
    }
    pieces
}

/// The part of one segment within the unit square, after Liang and Barsky ("A New Concept and Method for
/// Line Clipping", 1984): each side bounds the share of the way at which the segment enters or leaves.
fn segment(a: Place, b: Place) -> Option<(Place, Place)> {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let (mut enters, mut leaves) = (0.0f64, 1.0f64);
    for (run, room) in [(-dx, a.0), (dx, 1.0 - a.0), (-dy, a.1), (dy, 1.0 - a.1)] {
        if run == 0.0 {
            if room < 0.0 {
                return None;
            }
        } else if run < 0.0 {
            enters = enters.max(room / run);
        } else {
            leaves = leaves.min(room / run);
        }
    }
    // Ends that were not cut stay as they are, so that pieces join without rounding.
    let at = |share: f64| match share {
        0.0 => a,
        1.0 => b,
        _ => ((a.0 + share * dx).clamp(0.0, 1.0), (a.1 + share * dy).clamp(0.0, 1.0)),
    };
    (enters <= leaves).then(|| (at(enters), at(leaves)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_leaves_and_comes_back() {
        let pieces = polyline(&[(0.0, 0.5), (0.25, 0.5), (0.5, 1.5), (0.75, 0.5), (1.0, 0.5)]);
        assert_eq!(
            pieces,
            [
                vec![(0.0, 0.5), (0.25, 0.5), (0.375, 1.0)],
                vec![(0.625, 1.0), (0.75, 0.5), (1.0, 0.5)]
            ]
        );
    }

    #[test]
    fn what_passes_by_is_gone_and_what_passes_through_is_cut() {
        assert!(polyline(&[(-1.0, 0.5), (0.5, 2.5)]).is_empty());
        assert!(polyline(&[(2.0, 0.0), (2.0, 1.0)]).is_empty());
        assert_eq!(polyline(&[(-1.0, 0.5), (3.0, 0.5)]), [vec![(0.0, 0.5), (1.0, 0.5)]]);
        assert!(polyline(&[(0.5, 0.5)]).is_empty() && polyline(&[]).is_empty());
    }
}
