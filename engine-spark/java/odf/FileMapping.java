package odf;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.memory.ForeignAllocation;
import org.apache.arrow.memory.util.MemoryUtil;
import sun.misc.Unsafe;

/**
 * A mapped stretch of a file, unmapped as soon as its owner and every buffer over it let go.
 *
 * <p>Left to the garbage collector, deleted exchange files would keep their memory for long.
 */
final class FileMapping {
  private static final Unsafe UNSAFE = unsafe();

  private final MappedByteBuffer mapped;
  private final AtomicInteger users = new AtomicInteger(1);

  FileMapping(FileChannel channel, long start, long length) throws IOException {
    mapped = channel.map(FileChannel.MapMode.READ_ONLY, start, length);
  }

  ByteBuffer bytes(int start, int length) {
    return mapped.slice(start, length);
  }

  /** A buffer over part of the mapping. The receiver owns one reference. */
  ArrowBuf buffer(long start, long length) {
    users.incrementAndGet();
    long address = MemoryUtil.getByteBufferAddress(mapped) + start;
    return ArrowFile.ALLOCATOR.wrapForeignAllocation(
        new ForeignAllocation(length, address) {
          @Override
          protected void release0() {
            release();
          }
        });
  }

  void release() {
    if (users.decrementAndGet() == 0) UNSAFE.invokeCleaner(mapped);
  }

  private static Unsafe unsafe() {
    try {
      Field field = Unsafe.class.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      return (Unsafe) field.get(null);
    } catch (ReflectiveOperationException impossible) {
      throw new ExceptionInInitializerError(impossible);
    }
  }
}
