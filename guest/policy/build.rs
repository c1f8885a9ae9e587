//! Turns `known-safe/*.toml` into static data, so that the table costs nothing
//! when a component starts. Whatever is wrong in a file fails the build.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

#[path = "src/safe/entry.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the crate, which uses the rest")]
mod entry;
#[path = "src/safe/file.rs"]
#[allow(unreachable_pub, reason = "shared with the crate")]
mod file;

use entry::{Entry, Text, commands};
use file::File;

fn main() {
    if let Err(error) = build() {
        // As text: the standard form would escape the lines.
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("known-safe");
    println!("cargo:rerun-if-changed={}", folder.display());
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/safe/entry.rs");
    println!("cargo:rerun-if-changed=src/safe/file.rs");
    let mut paths: Vec<_> =
        std::fs::read_dir(&folder)?.map(|file| Ok(file?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    let (mut entries, mut faults) = (Vec::new(), Vec::new());
    for path in paths {
        let read: Result<File, _> = toml::from_str(&std::fs::read_to_string(&path)?);
        match read.map_err(|error| vec![error.to_string()]).and_then(File::entries) {
            Ok(more) => entries.extend(more),
            Err(more) => faults.push(format!("{}:\n{}", path.display(), more.join("\n"))),
        }
    }
    if !faults.is_empty() {
        return Err(format!("the table is wrong\n{}", faults.join("\n")).into());
    }
    let out = std::env::var("OUT_DIR")?;
    std::fs::write(Path::new(&out).join("known_safe.rs"), generated(&entries)?)?;
    Ok(())
}

fn generated(entries: &[Entry]) -> Result<String, Box<dyn Error>> {
    let mut all: Vec<(String, usize)> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        all.extend(commands(&entry.command).into_iter().map(|command| (command, index)));
    }
    all.sort();
    let twice: Vec<&str> = all
        .windows(2)
        .filter(|pair| pair[0].0 == pair[1].0)
        .map(|pair| pair[0].0.as_str())
        .collect();
    if !twice.is_empty() {
        return Err(format!("with two entries: {}", twice.join(", ")).into());
    }
    let mut text = String::new();
    writeln!(text, "static COMMANDS: [Command; {}] = [", all.len())?;
    for (command, index) in &all {
        let index = u16::try_from(*index)?;
        writeln!(text, "    Command {{ words: Cow::Borrowed({command:?}), entry: {index} }},")?;
    }
    writeln!(text, "];\nstatic ENTRIES: [Entry; {}] = [", entries.len())?;
    for entry in entries {
        write_entry(&mut text, entry)?;
    }
    writeln!(text, "];")?;
    Ok(text)
}

fn write_entry(text: &mut String, entry: &Entry) -> std::fmt::Result {
    // Named one by one: a field that is added and forgotten here does not compile.
    let Entry {
        command,
        style,
        flags,
        anywhere,
        never,
        any_flag,
        operands,
        most,
        open,
        needs,
        operands_need,
        check,
        refuse,
    } = entry;
    writeln!(text, "    Entry {{")?;
    let texts: [(&str, &Text); 6] = [
        ("command", command),
        ("flags", flags),
        ("anywhere", anywhere),
        ("needs", needs),
        ("operands_need", operands_need),
        ("refuse", refuse),
    ];
    for (name, value) in texts {
        let words: Vec<&str> = value.split_ascii_whitespace().collect();
        writeln!(text, "        {name}: Cow::Borrowed({:?}),", words.join(" "))?;
    }
    writeln!(text, "        never: Cow::Borrowed(&[")?;
    for (names, reason) in never.iter() {
        writeln!(text, "            (Cow::Borrowed({names:?}), Cow::Borrowed({reason:?})),")?;
    }
    writeln!(text, "        ]),\n        any_flag: {any_flag},\n        most: {most:?},")?;
    writeln!(text, "        open: {open},")?;
    writeln!(text, "        style: Style::{style:?},\n        operands: Operands::{operands:?},")?;
    match check {
        Some(check) => writeln!(text, "        check: Some(Check::{check:?}),")?,
        None => writeln!(text, "        check: None,")?,
    }
    writeln!(text, "    }},")
}
