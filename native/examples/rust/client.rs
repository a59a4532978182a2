//! recolva from Rust: an extern block, linked.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::{env, error::Error, fs, io};

#[link(name = "recolva")]
extern "C" {
    fn RecolvaAbiVersion() -> i32;
    fn DecayScoreExponential(last_accessed: i64, now: i64, half_life_ms: i64, out: *mut f64) -> i32;
    fn DecayScorePowerLaw(last_accessed: i64, now: i64, scale_ms: i64, exponent: f64, importance: f64, out: *mut f64) -> i32;
    fn DecayScoreExponentialBatch(times: *const i64, count: i64, now: i64, half_life_ms: i64, out: *mut f64) -> i32;
    fn DecayScorePowerLawBatch(
        times: *const i64, importance: *const f64, count: i64, now: i64, scale_ms: i64, exponent: f64, out: *mut f64,
    ) -> i32;
    fn RecolvaScanBlock(
        data: *const u8, length: i64, at_end: i32, model: i32, parameters: *const f64, parameter_count: i32,
        now: i64, threshold: f64, capacity: i64,
        line_start: *mut i64, line_end: *mut i64, id_start: *mut i64, id_end: *mut i64,
        last_accessed: *mut i64, score: *mut f64, prune: *mut u8,
        records: *mut i64, blanks: *mut i64, consumed: *mut i64, bad_line: *mut i64,
    ) -> i32;
}

const ABI_VERSION: i32 = 1;
const POWER_LAW: i32 = 1;
const NOW: i64 = 87_400_000;
const DAY: i64 = 86_400_000;
const ROWS: usize = 100;

fn check(status: i32) -> Result<(), String> {
    if status == 0 { Ok(()) } else { Err(format!("recolva: status {status}")) }
}

/// Prints one score of each model, and a batch.
fn score() -> Result<(), Box<dyn Error>> {
    let times = [1_000_000, -85_400_000, -171_800_000];
    let (mut one, mut other, mut many) = (0.0, 0.0, [0.0; 3]);
    unsafe {
        check(DecayScoreExponential(1_000_000, NOW, DAY, &mut one))?;
        check(DecayScorePowerLaw(1_000_000, NOW, DAY, 1.0, 0.5, &mut other))?;
        check(DecayScoreExponentialBatch(times.as_ptr(), 3, NOW, DAY, many.as_mut_ptr()))?;
    }
    println!("exponential {one}\npower-law {other}\nbatch {} {} {}", many[0], many[1], many[2]);
    Ok(())
}

/// Prints id, score and decision of each memory in a JSONL file, a block of rows at a time.
fn scan(name: &str) -> Result<(), Box<dyn Error>> {
    let content = fs::read(name)?;
    let mut data = content.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&content); // a byte order mark belongs to no line
    let parameters = [86_400_000.0, 1.0]; // scale_ms, exponent
    let (mut line_start, mut line_end, mut last_accessed) = ([0; ROWS], [0; ROWS], [0; ROWS]);
    let (mut id_start, mut id_end, mut scores, mut prune) = ([0i64; ROWS], [0i64; ROWS], [0f64; ROWS], [0u8; ROWS]);
    let (mut memories, mut lines) = (0, 0);
    let mut out = io::BufWriter::new(io::stdout().lock());
    loop {
        let (mut records, mut blanks, mut consumed, mut bad_line) = (0, 0, 0, 0);
        check(unsafe {
            RecolvaScanBlock(
                data.as_ptr(), data.len() as i64, 1, POWER_LAW, parameters.as_ptr(), 2, NOW, 0.3, ROWS as i64,
                line_start.as_mut_ptr(), line_end.as_mut_ptr(), id_start.as_mut_ptr(), id_end.as_mut_ptr(),
                last_accessed.as_mut_ptr(), scores.as_mut_ptr(), prune.as_mut_ptr(),
                &mut records, &mut blanks, &mut consumed, &mut bad_line,
            )
        })?;
        for i in 0..records as usize {
            out.write_all(&data[id_start[i] as usize..id_end[i] as usize])?;
            writeln!(out, "\t{:016x}\t{}", scores[i].to_bits(), prune[i])?;
        }
        if bad_line != 0 {
            out.flush()?;
            return Err(format!("line {} is not valid", lines + bad_line).into());
        }
        data = &data[consumed as usize..];
        memories += records;
        lines += records + blanks;
        if data.is_empty() {
            break;
        }
    }
    writeln!(out, "{memories} memories, {} blank lines", lines - memories)?;
    Ok(())
}

/// Answers each line of standard input with status and score, of a single call and of a batch.
fn vectors() -> Result<(), Box<dyn Error>> {
    let mut answers = String::new();
    for line in io::stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let integer = |i: usize| words[i].parse::<i64>();
        let double = |i: usize| u64::from_str_radix(words[i], 16).map(f64::from_bits);
        let (last, now, millis) = (integer(1)?, integer(2)?, integer(3)?);
        let (mut single, mut batch) = (-7.25f64, -7.25f64);
        let (status, batch_status) = if words[0] == "exponential" {
            unsafe {
                (DecayScoreExponential(last, now, millis, &mut single),
                 DecayScoreExponentialBatch(&last, 1, now, millis, &mut batch))
            }
        } else {
            let (exponent, importance) = (double(4)?, double(5)?);
            unsafe {
                (DecayScorePowerLaw(last, now, millis, exponent, importance, &mut single),
                 DecayScorePowerLawBatch(&last, &importance, 1, now, millis, exponent, &mut batch))
            }
        };
        writeln!(answers, "{status} {:016x} {batch_status} {:016x}", single.to_bits(), batch.to_bits())?;
    }
    print!("{answers}");
    Ok(())
}

fn run() -> Result<(), Box<dyn Error>> {
    let version = unsafe { RecolvaAbiVersion() };
    if version != ABI_VERSION {
        return Err(format!("ABI version must be {ABI_VERSION}, got {version}").into());
    }
    match env::args().nth(1).as_deref() {
        Some("--vectors") => vectors(),
        Some(file) => score().and_then(|()| scan(file)),
        None => Err("usage: client FILE.jsonl | client --vectors".into()),
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
