package odf;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Where the rows of each running task come from. A plan without exchanges reads and writes in one
 * task, so the reader can tell the writer.
 */
final class Positions {
  private static final Map<Long, ArrowScan.Position> BY_TASK = new ConcurrentHashMap<>();

  private Positions() {}

  static void publish(ArrowScan.Position position) {
    TaskContext task = TaskContext.get();
    ArrowScan.Position other = BY_TASK.putIfAbsent(task.taskAttemptId(), position);
    if (other != null)
      throw new IllegalStateException("one task reads " + other + " and " + position);
    TaskCompletionListener forget = done -> BY_TASK.remove(done.taskAttemptId());
    task.addTaskCompletionListener(forget);
  }

  /** The position of this task's rows, or null when it has read no input. */
  static ArrowScan.Position current() {
    return BY_TASK.get(TaskContext.get().taskAttemptId());
  }
}
