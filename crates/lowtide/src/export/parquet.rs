//! Rows to Parquet, by the crate's column writers: its Arrow layer would add 16 crates.

use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::table::{Cell, Column, ColumnType, Table};

/// Rows that are held in memory and written together: some megabytes for the widest table.
const GROUP: usize = 16_384;

pub struct Parquet<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Values>,
    rows: usize,
}

/// A column of the rows to be written: the values that are there, and for each row whether it is.
struct Values {
    present: Vec<i16>,
    values: Typed,
}

enum Typed {
    Int(Vec<i64>),
    Float(Vec<f64>),
    Text(Vec<ByteArray>),
    Bool(Vec<bool>),
}

impl<W: Write + Send> Parquet<W> {
    pub fn begin(columns: &[Column], out: W) -> Result<Parquet<W>> {
        let schema = Arc::new(parse_message_type(&schema(columns))?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("lowtide ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        Ok(Parquet {
            file: SerializedFileWriter::new(out, schema, Arc::new(properties))?,
            columns: columns.iter().map(|(_, kind)| Values::of(*kind)).collect(),
            rows: 0,
        })
    }

    fn write_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let present = std::mem::take(&mut column.present);
            match &mut column.values {
                Typed::Int(values) => put::<_, Int64Type>(&mut group, values, &present)?,
                Typed::Float(values) => put::<_, DoubleType>(&mut group, values, &present)?,
                Typed::Text(values) => put::<_, ByteArrayType>(&mut group, values, &present)?,
                Typed::Bool(values) => put::<_, BoolType>(&mut group, values, &present)?,
            }
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

fn put<W: Write + Send, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &mut Vec<T::T>,
    present: &[i16],
) -> Result<()> {
    let mut column = group.next_column()?.expect("the schema has every column");
    column
        .typed::<T>()
        .write_batch(values, Some(present), None)?;
    column.close()?;
    values.clear();
    Ok(())
}

fn schema(columns: &[Column]) -> String {
    let fields = columns.iter().map(|(name, kind)| match kind {
        ColumnType::Int => format!("optional int64 {name};"),
        ColumnType::Float => format!("optional double {name};"),
        ColumnType::Text => format!("optional binary {name} (STRING);"),
        ColumnType::Bool => format!("optional boolean {name};"),
        ColumnType::Time => format!("optional int64 {name} (TIMESTAMP(MICROS,true));"),
    });
    format!("message lowtide {{ {} }}", fields.collect::<String>())
}

impl Values {
    fn of(kind: ColumnType) -> Values {
        Values {
            present: Vec::new(),
            values: match kind {
                ColumnType::Int | ColumnType::Time => Typed::Int(Vec::new()),
                ColumnType::Float => Typed::Float(Vec::new()),
                ColumnType::Text => Typed::Text(Vec::new()),
                ColumnType::Bool => Typed::Bool(Vec::new()),
            },
        }
    }

    fn push(&mut self, cell: &Cell) {
        self.present.push(i16::from(*cell != Cell::Missing));
        match (&mut self.values, cell) {
            (_, Cell::Missing) => {}
            // Nothing that is counted here comes near 2^63.
            (Typed::Int(values), Cell::Int(number)) => {
                values.push(i64::try_from(*number).unwrap_or(i64::MAX));
            }
            (Typed::Int(values), Cell::Time(micros)) => values.push(*micros),
            (Typed::Float(values), Cell::Float(number)) => values.push(*number),
            (Typed::Text(values), Cell::Text(text)) => values.push(ByteArray::from(*text)),
            (Typed::Bool(values), Cell::Bool(value)) => values.push(*value),
            (_, cell) => unreachable!("{cell:?} in a column of another kind"),
        }
    }
}

impl<W: Write + Send> Table for Parquet<W> {
    fn row(&mut self, cells: &[Cell]) -> Result<()> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell);
        }
        self.rows += 1;
        if self.rows == GROUP {
            self.write_group()?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.write_group()?;
        self.file.close()?;
        Ok(())
    }
}
