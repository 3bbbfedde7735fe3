//! The rules of style, over every file of the repository.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use drivescope_repo_checks::language;
use drivescope_repo_checks::packages::packages;
use drivescope_repo_checks::repository::{Source, sources};
use drivescope_repo_checks::style::{self, Fault};

fn none(rule: fn(&Source) -> Vec<Fault>) {
    let sources = sources().unwrap();
    assert!(sources.len() > 50, "only {} files were looked at", sources.len());
    let faults = style::faults(&sources, rule);
    let lines: Vec<_> = faults.iter().map(|f| format!("{}: {}", f.place, f.what)).collect();
    assert!(faults.is_empty(), "\n{}", lines.join("\n"));
}

#[test]
fn no_file_is_too_long() {
    none(style::too_long);
}

#[test]
fn unsafe_code_lives_with_the_real_drives_alone() {
    none(style::unsafe_code);
}

#[test]
fn only_real_drives_and_the_binary_read_clocks() {
    none(style::clocks);
}

#[test]
fn nothing_is_left_unfinished() {
    none(style::unfinished);
}

#[test]
fn ignored_tests_say_why() {
    none(style::ignored_tests);
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    none(style::machine_paths);
}

#[test]
fn only_the_binary_prints() {
    none(style::printing);
}

#[test]
fn only_drives_tell_targets_apart_by_their_names() {
    none(style::target_names);
}

#[test]
fn every_output_passes_the_check() {
    none(style::unchecked_outputs);
}

#[test]
fn remedies_are_data_where_they_are_made() {
    none(style::remedies_of_words);
}

#[test]
fn what_the_binary_prints_passes_the_filter() {
    none(style::printing_unfiltered);
}

#[test]
fn every_crate_says_in_a_line_what_it_is() {
    for (name, package) in packages().unwrap() {
        let words = package.description.trim();
        assert!(!words.is_empty() && !words.contains('\n'), "crates/{name}: {words:?}");
        assert!(words.chars().count() <= 120, "crates/{name}: too long: {words:?}");
    }
}

#[test]
fn comments_name_the_thing() {
    none(language::headless_comments);
}

#[test]
fn printed_texts_use_plain_words() {
    none(language::private_words_printed);
}

#[test]
fn documents_use_plain_words() {
    none(language::private_words_in_documents);
}

#[test]
fn comments_use_plain_words() {
    none(language::private_words_in_comments);
}
