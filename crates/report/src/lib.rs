//! The only room that formats: terminal tables, sentences, JSON documents.
