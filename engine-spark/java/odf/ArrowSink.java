package odf;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Writes a query's rows as one Arrow file, in the order of the ticks that brought them. */
public final class ArrowSink implements TableProvider {
  static final String OUT = "out";

  private static final Map<String, Map<Integer, Long>> ROW_COUNTS = new ConcurrentHashMap<>();

  /** Rows of each tick position in a file that was committed; asked once. */
  static Map<Integer, Long> takeRowCounts(String out) {
    return ROW_COUNTS.remove(out);
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return new StructType();
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public Table getTable(StructType schema, Transform[] parts, Map<String, String> properties) {
    return new OutputTable();
  }

  private static final class OutputTable implements SupportsWrite {
    @Override
    public String name() {
      return "odf output";
    }

    @Override
    public StructType schema() {
      return new StructType();
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      return new WriteBuilder() {
        @Override
        public Write build() {
          return new Write() {
            @Override
            public BatchWrite toBatch() {
              return new FileWrite(info.schema().asNullable(), info.options().get(OUT));
            }
          };
        }
      };
    }
  }

  private record FileWrite(StructType schema, String out) implements BatchWrite {
    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      return new PartWriterFactory(schema, out);
    }

    @Override
    public boolean useCommitCoordinator() {
      return false;
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
      try {
        ROW_COUNTS.put(out, PartFiles.join(schema, out, PartFiles.parts(messages)));
      } catch (IOException failure) {
        throw new UncheckedIOException(failure);
      }
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
      PartFiles.delete(PartFiles.parts(messages));
    }
  }

  private record PartWriterFactory(StructType schema, String out) implements DataWriterFactory {
    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task) {
      try {
        return new PartWriter(schema, out + ".part-" + partition + "-" + task, partition);
      } catch (IOException failure) {
        throw new UncheckedIOException(failure);
      }
    }
  }
}
