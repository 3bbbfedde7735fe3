//! Prints the circles of files of a crate, or of all, and by which names their files use each other: `circles [CRATE]`.

use drivescope_repo_checks::{circles, repository};

fn main() -> anyhow::Result<()> {
    let wanted = std::env::args().nth(1);
    let sources = repository::sources()?;
    for (name, files) in circles::crates(&sources) {
        if wanted.as_ref().is_some_and(|wanted| *wanted != name) {
            continue;
        }
        let uses = circles::uses(&files);
        for circle in circles::of_uses(&uses) {
            println!("{name}: {} files", circle.len());
            for file in &circle {
                let inside = uses[file].iter().filter(|(used, _)| circle.contains(*used));
                for (used, names) in inside {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    println!("  {file} -> {used}: {}", names.join(", "));
                }
            }
        }
    }
    Ok(())
}
