package odf;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.ipc.ArrowFileReader;
import org.apache.arrow.vector.ipc.message.ArrowBlock;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.util.ArrowUtils;

/** The footer of an Arrow IPC file: its schema and where its record batches are. */
record ArrowFile(Schema schema, List<ArrowBlock> batches) {
  static final BufferAllocator ALLOCATOR =
      ArrowUtils.rootAllocator().newChildAllocator("odf", 0, Long.MAX_VALUE);

  static ArrowFile open(String path) throws IOException {
    try (FileChannel channel = FileChannel.open(Path.of(path), StandardOpenOption.READ);
        ArrowFileReader reader = new ArrowFileReader(channel, ALLOCATOR)) {
      Schema schema = reader.getVectorSchemaRoot().getSchema();
      if (!reader.getDictionaryBlocks().isEmpty())
        throw new IOException("dictionary batches are not part of the exchange format: " + path);
      return new ArrowFile(schema, reader.getRecordBlocks());
    }
  }

  /** The first byte after a batch. */
  static long end(ArrowBlock block) {
    return block.getOffset() + block.getMetadataLength() + block.getBodyLength();
  }
}
