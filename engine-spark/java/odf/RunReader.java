package odf;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.arrow.flatbuf.Message;
import org.apache.arrow.flatbuf.RecordBatch;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.VectorLoader;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.message.ArrowRecordBatch;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Reads a run of batches where they lie in the mapped file: no row is copied or decoded.
 *
 * <p>Each batch has its own vectors, because Spark may close those of a batch that it has consumed.
 */
final class RunReader implements PartitionReader<ColumnarBatch> {
  private static final int CONTINUATION = -1;

  private final ArrowScan.Run run;
  private final String[] columns;
  private final Schema schema;
  private final FileMapping mapping;
  private VectorSchemaRoot root;
  private int next = 0;

  RunReader(ArrowScan.Run run, String[] columns) throws IOException {
    this.run = run;
    this.columns = columns;
    schema = ArrowFile.open(run.path()).schema();
    long[] last = run.blocks()[run.blocks().length - 1];
    long start = run.blocks()[0][0];
    try (FileChannel channel = FileChannel.open(Path.of(run.path()), StandardOpenOption.READ)) {
      mapping = new FileMapping(channel, start, last[0] + last[1] + last[2] - start);
    }
    Positions.publish(run.position());
  }

  @Override
  public boolean next() {
    closeRoot();
    if (next == run.blocks().length) return false;
    load(run.blocks()[next++]);
    return true;
  }

  private void load(long[] block) {
    int metadata = (int) block[1];
    long start = block[0] - run.blocks()[0][0];
    ByteBuffer header = mapping.bytes((int) start, metadata).order(ByteOrder.LITTLE_ENDIAN);
    int prefix = header.getInt(0) == CONTINUATION ? 8 : 4;
    ByteBuffer message = header.slice(prefix, metadata - prefix).order(ByteOrder.LITTLE_ENDIAN);
    RecordBatch batch = (RecordBatch) Message.getRootAsMessage(message).header(new RecordBatch());
    ArrowBuf body = mapping.buffer(start + metadata, block[2]);
    root = VectorSchemaRoot.create(schema, ArrowFile.ALLOCATOR);
    try (ArrowRecordBatch vectors = deserialise(batch, body)) {
      new VectorLoader(root).load(vectors);
    }
  }

  private static ArrowRecordBatch deserialise(RecordBatch batch, ArrowBuf body) {
    try {
      return MessageSerializer.deserializeRecordBatch(batch, body);
    } catch (IOException failure) {
      throw new java.io.UncheckedIOException(failure);
    }
  }

  @Override
  public ColumnarBatch get() {
    ColumnVector[] vectors = new ColumnVector[columns.length];
    for (int i = 0; i < columns.length; i++)
      vectors[i] = new ArrowColumnVector(root.getVector(columns[i]));
    return new ColumnarBatch(vectors, root.getRowCount());
  }

  private void closeRoot() {
    if (root != null) root.close();
    root = null;
  }

  @Override
  public void close() {
    closeRoot();
    mapping.release();
  }
}
