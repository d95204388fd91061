//! Rows to text. A table has named columns of one kind each, and every cell may be missing.

use std::io::{BufWriter, Write};

use anyhow::Result;
use jiff::Timestamp;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    Int,
    Float,
    Text,
    Bool,
    /// Microseconds since the Unix epoch.
    Time,
}

pub type Column = (&'static str, ColumnType);

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    Missing,
    Int(u64),
    Float(f64),
    Text(&'a str),
    Bool(bool),
    Time(i64),
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Cell<'a> {
        Cell::Text(text)
    }
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Cell<'a> {
        Cell::Text(text)
    }
}

impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Cell::Int(number)
    }
}

impl From<u32> for Cell<'_> {
    fn from(number: u32) -> Self {
        Cell::Int(number.into())
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        Cell::Float(number)
    }
}

impl From<bool> for Cell<'_> {
    fn from(value: bool) -> Self {
        Cell::Bool(value)
    }
}

impl From<lowtide_core::units::Bytes> for Cell<'_> {
    fn from(bytes: lowtide_core::units::Bytes) -> Self {
        Cell::Int(bytes.0)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Missing, T::into)
    }
}

pub trait Table {
    /// One cell per column, in order.
    fn row(&mut self, cells: &[Cell]) -> Result<()>;
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Comma-separated, a line of names first, quoted where it must be (RFC 4180). Missing is
/// empty; a text that is empty is a pair of quotes.
pub struct Csv<W: Write> {
    out: BufWriter<W>,
}

impl<W: Write> Csv<W> {
    pub fn begin(columns: &[Column], out: W) -> Result<Csv<W>> {
        let mut csv = Csv {
            out: BufWriter::new(out),
        };
        let names: Vec<Cell> = columns.iter().map(|(name, _)| Cell::Text(name)).collect();
        csv.row(&names)?;
        Ok(csv)
    }
}

impl<W: Write> Table for Csv<W> {
    fn row(&mut self, cells: &[Cell]) -> Result<()> {
        for (index, cell) in cells.iter().enumerate() {
            if index > 0 {
                self.out.write_all(b",")?;
            }
            match cell {
                Cell::Missing => {}
                Cell::Int(number) => write!(self.out, "{number}")?,
                Cell::Float(number) => write!(self.out, "{number}")?,
                Cell::Bool(value) => write!(self.out, "{value}")?,
                Cell::Time(micros) => write!(self.out, "{}", iso(*micros)?)?,
                Cell::Text(text) if text.is_empty() || text.contains(['"', ',', '\n', '\r']) => {
                    write!(self.out, "\"{}\"", text.replace('"', "\"\""))?;
                }
                Cell::Text(text) => self.out.write_all(text.as_bytes())?,
            }
        }
        Ok(self.out.write_all(b"\n")?)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        Ok(self.out.flush()?)
    }
}

/// One JSON object a line; missing is null.
pub struct JsonLines<W: Write> {
    columns: Vec<Column>,
    out: BufWriter<W>,
}

impl<W: Write> JsonLines<W> {
    pub fn begin(columns: &[Column], out: W) -> JsonLines<W> {
        JsonLines {
            columns: columns.to_vec(),
            out: BufWriter::new(out),
        }
    }
}

impl<W: Write> Table for JsonLines<W> {
    fn row(&mut self, cells: &[Cell]) -> Result<()> {
        for (index, ((name, _), cell)) in self.columns.iter().zip(cells).enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            write!(self.out, "{before}\"{name}\":")?;
            match cell {
                Cell::Missing => self.out.write_all(b"null")?,
                Cell::Int(number) => write!(self.out, "{number}")?,
                Cell::Float(number) => serde_json::to_writer(&mut self.out, number)?,
                Cell::Bool(value) => write!(self.out, "{value}")?,
                Cell::Time(micros) => write!(self.out, "\"{}\"", iso(*micros)?)?,
                Cell::Text(text) => serde_json::to_writer(&mut self.out, text)?,
            }
        }
        Ok(self.out.write_all(b"}\n")?)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        Ok(self.out.flush()?)
    }
}

fn iso(micros: i64) -> Result<Timestamp> {
    Ok(Timestamp::from_microsecond(micros)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[
        ("n", ColumnType::Int),
        ("x", ColumnType::Float),
        ("s", ColumnType::Text),
        ("b", ColumnType::Bool),
        ("w", ColumnType::Time),
    ];

    fn rows(table: &mut dyn Table) {
        let time = Cell::Time(1_700_000_000_123_456);
        let full = [
            7u64.into(),
            0.5.into(),
            "a \"b\", c".into(),
            true.into(),
            time,
        ];
        table.row(&full).unwrap();
        table.row(&[Cell::Missing; 5]).unwrap();
    }

    #[test]
    fn csv_quotes_what_it_must_and_leaves_out_what_is_missing() {
        let mut out = Vec::new();
        let mut csv = Csv::begin(COLUMNS, &mut out).unwrap();
        rows(&mut csv);
        Box::new(csv).finish().unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "n,x,s,b,w\n7,0.5,\"a \"\"b\"\", c\",true,2023-11-14T22:13:20.123456Z\n,,,,\n"
        );
    }

    #[test]
    fn every_json_line_is_an_object_with_all_names() {
        let mut out = Vec::new();
        let mut lines = JsonLines::begin(COLUMNS, &mut out);
        rows(&mut lines);
        Box::new(lines).finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        let parsed: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(parsed[0]["s"], "a \"b\", c");
        assert_eq!(parsed[0]["w"], "2023-11-14T22:13:20.123456Z");
        assert!(parsed[1].as_object().unwrap().values().all(|v| v.is_null()));
        assert_eq!(parsed[1].as_object().unwrap().len(), COLUMNS.len());
    }
}
