package odf;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.arrow.vector.ipc.WriteChannel;
import org.apache.arrow.vector.ipc.message.ArrowBlock;
import org.apache.arrow.vector.ipc.message.ArrowFooter;
import org.apache.arrow.vector.ipc.message.MessageSerializer;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** Joins the files of the tasks: batches are moved by the kernel, only the footer is made anew. */
final class PartFiles {
  private static final byte[] MAGIC = "ARROW1".getBytes(StandardCharsets.US_ASCII);

  /** What one task wrote; the position is absent when it read no input and so has no rows. */
  record Part(String path, int partition, ArrowScan.Position position, long rows)
      implements WriterCommitMessage {}

  private static final Comparator<Part> RELEASE_ORDER =
      Comparator.<Part>comparingInt(part -> part.position().tick())
          .thenComparingInt(part -> part.position().batch())
          .thenComparingInt(Part::partition);

  private PartFiles() {}

  static List<Part> parts(WriterCommitMessage[] messages) {
    List<Part> parts = new ArrayList<>();
    for (WriterCommitMessage each : messages) if (each != null) parts.add((Part) each);
    return parts;
  }

  static void delete(List<Part> parts) {
    for (Part part : parts) Path.of(part.path()).toFile().delete();
  }

  /** Rows of each tick position. The file appears whole, under its name, or not at all. */
  static Map<Integer, Long> join(StructType schema, String out, List<Part> all)
      throws IOException {
    List<Part> parts = new ArrayList<>(all);
    parts.removeIf(part -> part.rows() == 0);
    parts.sort(RELEASE_ORDER);
    Map<Integer, Long> rows = new TreeMap<>();
    for (Part part : parts) rows.merge(part.position().tick(), part.rows(), Long::sum);
    if (!parts.isEmpty()) publish(PartWriter.arrowSchema(schema), Path.of(out), parts);
    delete(all);
    return rows;
  }

  private static void publish(Schema schema, Path out, List<Part> parts) throws IOException {
    Path staging = Path.of(out + ".staging");
    try (FileChannel channel =
        FileChannel.open(
            staging,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      write(schema, channel, parts);
      channel.force(true);
    }
    Files.move(staging, out, StandardCopyOption.ATOMIC_MOVE);
    try (FileChannel folder = FileChannel.open(out.getParent(), StandardOpenOption.READ)) {
      folder.force(true);
    }
  }

  private static void write(Schema schema, FileChannel channel, List<Part> parts)
      throws IOException {
    WriteChannel head = new WriteChannel(channel);
    head.write(MAGIC);
    head.align();
    MessageSerializer.serialize(head, schema);
    List<ArrowBlock> blocks = new ArrayList<>();
    for (Part part : parts) append(channel, part, blocks);
    WriteChannel tail = new WriteChannel(channel);
    tail.writeIntLittleEndian(-1);
    tail.writeIntLittleEndian(0);
    long start = tail.getCurrentPosition();
    tail.write(new ArrowFooter(schema, List.of(), blocks), false);
    tail.writeIntLittleEndian((int) (tail.getCurrentPosition() - start));
    tail.write(MAGIC);
  }

  private static void append(FileChannel channel, Part part, List<ArrowBlock> blocks)
      throws IOException {
    List<ArrowBlock> batches = ArrowFile.open(part.path()).batches();
    long start = batches.get(0).getOffset();
    long length = ArrowFile.end(batches.get(batches.size() - 1)) - start;
    long shift = channel.position() - start;
    for (ArrowBlock block : batches)
      blocks.add(
          new ArrowBlock(
              block.getOffset() + shift, block.getMetadataLength(), block.getBodyLength()));
    try (FileChannel source = FileChannel.open(Path.of(part.path()), StandardOpenOption.READ)) {
      long done = 0;
      while (done < length) done += source.transferTo(start + done, length - done, channel);
    }
  }
}
