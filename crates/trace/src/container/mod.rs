//! Our own format: a Parquet file with a row for each I/O, and what is known of the whole in its footer.
