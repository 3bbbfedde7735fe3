//! Speed classes of SD cards: A1 and A2, U and V.
