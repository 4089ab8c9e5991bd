package odf;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.vector.ipc.message.ArrowBlock;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Reads one input. A partition is a run of record batches inside one tick. */
final class ArrowScan implements SupportsPushDownRequiredColumns, Scan, Batch {
  /** Where a run of batches stands in the order of the output: its tick, then its place in it. */
  record Position(int input, int tick, int batch) implements java.io.Serializable {}

  /** Blocks as (offset, length of the metadata, length of the body). */
  record Run(String path, Position position, long[][] blocks) implements InputPartition {}

  private final InputTable table;
  private StructType columns;

  ArrowScan(InputTable table) {
    this.table = table;
    this.columns = table.schema();
  }

  @Override
  public void pruneColumns(StructType required) {
    columns = required;
  }

  @Override
  public Scan build() {
    return this;
  }

  @Override
  public StructType readSchema() {
    return columns;
  }

  @Override
  public String description() {
    return "odf input " + table.name();
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public InputPartition[] planInputPartitions() {
    List<Run> runs = new ArrayList<>();
    if (table.file() == null) return new InputPartition[0];
    try {
      ArrowFile file = ArrowFile.open(table.file());
      checkTypes(file);
      int next = 0;
      for (InputTable.Tick tick : table.ticks()) {
        cut(tick, file.batches().subList(next, next + tick.batches()), next, runs);
        next += tick.batches();
      }
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    }
    return runs.toArray(new InputPartition[0]);
  }

  private void cut(InputTable.Tick tick, List<ArrowBlock> batches, int first, List<Run> runs) {
    List<long[]> run = new ArrayList<>();
    long bytes = 0;
    int start = first;
    for (int i = 0; i < batches.size(); i++) {
      ArrowBlock block = batches.get(i);
      if (bytes > 0 && bytes + block.getBodyLength() > table.partitionBytes()) {
        runs.add(run(tick, start, run));
        run = new ArrayList<>();
        bytes = 0;
        start = first + i;
      }
      run.add(
          new long[] {block.getOffset(), block.getMetadataLength(), block.getBodyLength()});
      bytes += block.getBodyLength();
    }
    if (!run.isEmpty()) runs.add(run(tick, start, run));
  }

  private Run run(InputTable.Tick tick, int firstBatch, List<long[]> blocks) {
    Position position = new Position(table.index(), tick.position(), firstBatch);
    return new Run(table.file(), position, blocks.toArray(new long[0][]));
  }

  /** Vectors are read as Spark's types without conversion, so the file must hold exactly those. */
  private void checkTypes(ArrowFile file) throws IOException {
    int expected = table.ticks().stream().mapToInt(InputTable.Tick::batches).sum();
    if (file.batches().size() != expected)
      throw new IOException(
          table.file() + " has " + file.batches().size() + " batches, its ticks " + expected);
    Map<String, Field> fields = new HashMap<>();
    for (Field field : file.schema().getFields()) fields.put(field.getName(), field);
    for (StructField column : columns.fields()) {
      Field field = fields.get(column.name());
      if (field == null)
        throw new IOException(table.file() + " has no column " + column.name());
      String found = ArrowUtils.fromArrowField(field).catalogString();
      if (!found.equals(column.dataType().catalogString()))
        throw new IOException(
            "column " + column.name() + " of " + table.file() + " is " + found
                + ", not " + column.dataType().catalogString());
    }
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new Factory(columns.fieldNames());
  }

  private record Factory(String[] columns) implements PartitionReaderFactory {
    @Override
    public boolean supportColumnarReads(InputPartition partition) {
      return true;
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      throw new UnsupportedOperationException("inputs are read by column");
    }

    @Override
    public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
      try {
        return new RunReader((Run) partition, columns);
      } catch (IOException failure) {
        throw new UncheckedIOException(failure);
      }
    }
  }
}
