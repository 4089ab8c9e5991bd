package odf;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowFileWriter;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;

/** Writes the rows of one task as an Arrow file of its own, to be joined with the others. */
final class PartWriter implements DataWriter<InternalRow> {
  static final AtomicLong ROWS_WRITTEN = new AtomicLong();

  private static final int MAX_BATCH_ROWS = 65_536;
  private static final long MAX_BATCH_BYTES = 64L << 20;
  private static final int ROWS_BETWEEN_SIZE_CHECKS = 256;

  private final Path path;
  private final int partition;
  private final FileChannel channel;
  private final VectorSchemaRoot root;
  private final ArrowWriter rows;
  private final ArrowFileWriter file;
  private int pending = 0;
  private long written = 0;

  PartWriter(StructType schema, String path, int partition) throws IOException {
    this.path = Path.of(path);
    this.partition = partition;
    channel =
        FileChannel.open(
            this.path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    root = VectorSchemaRoot.create(arrowSchema(schema), ArrowFile.ALLOCATOR);
    rows = ArrowWriter.create(root);
    file = new ArrowFileWriter(root, null, channel);
    file.start();
  }

  /** Times are instants, written as UTC; strings and lists keep 32-bit offsets. */
  static Schema arrowSchema(StructType schema) {
    return ArrowUtils.toArrowSchema(schema, "UTC", true, false, false);
  }

  @Override
  public void write(InternalRow row) throws IOException {
    rows.write(row);
    pending++;
    boolean checkSize = pending % ROWS_BETWEEN_SIZE_CHECKS == 0;
    if (pending == MAX_BATCH_ROWS || (checkSize && rows.sizeInBytes() >= MAX_BATCH_BYTES)) flush();
  }

  private void flush() throws IOException {
    rows.finish();
    file.writeBatch();
    rows.reset();
    written += pending;
    ROWS_WRITTEN.addAndGet(pending);
    pending = 0;
  }

  @Override
  public WriterCommitMessage commit() throws IOException {
    if (pending > 0) flush();
    file.end();
    ArrowScan.Position position = Positions.current();
    if (position == null && written > 0)
      throw new IllegalStateException("rows that come from no input");
    return new PartFiles.Part(path.toString(), partition, position, written);
  }

  @Override
  public void abort() throws IOException {
    Files.deleteIfExists(path);
  }

  @Override
  public void close() throws IOException {
    file.close();
    root.close();
    channel.close();
  }
}
