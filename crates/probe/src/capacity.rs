//! What a drive really holds: fake drives, found by sampling.
