//! Writes generated manifests to disk, for the command to read.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::process::ExitCode;

use attache_gen::{ManifestFormat, ManifestShape, generate, write};
use clap::Parser;

/// Generate manifests of any size and shape, always the same ones
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    shape: ManifestShape,
    /// A folder to write one file for each kind to, or - for everything on standard output
    #[arg(long, short, value_name = "DIR|-")]
    out: PathBuf,
    #[arg(long, short, value_enum, default_value_t = ManifestFormat::Yaml)]
    format: ManifestFormat,
}

fn main() -> ExitCode {
    let cli = Arguments::parse();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write to `{}`: {error}", cli.out.display());
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Arguments) -> io::Result<()> {
    let objects = generate(&cli.shape);
    if cli.out.as_os_str() == "-" {
        return write(&objects, cli.format, BufWriter::new(io::stdout().lock()));
    }
    fs::create_dir_all(&cli.out)?;
    let mut by_kind: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for object in &objects {
        by_kind.entry(&object.id.kind).or_default().push(object);
    }
    let extension = match cli.format {
        ManifestFormat::Yaml => "yaml",
        ManifestFormat::Json => "json",
    };
    for (kind, objects) in by_kind {
        let file = File::create(cli.out.join(format!("{}.{extension}", kind.to_lowercase())))?;
        write(objects, cli.format, BufWriter::new(file))?;
    }
    Ok(())
}
