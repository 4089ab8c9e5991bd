package odf;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.regex.PatternSyntaxException;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.AnalysisException;

/** A failure as a value: Spark's own words, its state code, and where in the query it happened. */
final class Failure {
  private Failure() {}

  static ObjectNode describe(Throwable failure) {
    Throwable cause = meaningful(failure);
    ObjectNode node = Engine.JSON.createObjectNode();
    String message = cause.getMessage();
    node.put("message", message == null ? cause.getClass().getName() : message);
    node.put("class", cause.getClass().getName());
    node.put("trace", trace(failure));
    if (cause instanceof SparkThrowable spark) {
      node.put("condition", spark.getCondition());
      node.put("state", spark.getSqlState());
      putIndex(node, spark);
    }
    if (cause instanceof AnalysisException analysis && analysis.line().isDefined()) {
      node.put("line", (Integer) analysis.line().get());
      if (analysis.startPosition().isDefined())
        node.put("column", (Integer) analysis.startPosition().get() + 1);
    }
    return node;
  }

  /** The deepest cause that Spark gave a state code: a job's failure wraps it several times. */
  private static Throwable meaningful(Throwable failure) {
    Throwable best = failure;
    for (Throwable each = failure; each != null; each = each.getCause()) {
      if (each instanceof SparkThrowable spark && spark.getSqlState() != null) best = each;
      if (each instanceof StackOverflowError || each instanceof PatternSyntaxException) return each;
    }
    return best;
  }

  private static void putIndex(ObjectNode node, SparkThrowable spark) {
    QueryContext[] contexts = spark.getQueryContext();
    if (contexts == null || contexts.length == 0) return;
    try {
      if (contexts[0].startIndex() >= 0) node.put("start", contexts[0].startIndex());
    } catch (RuntimeException unsupported) {
      // A context that is not SQL text has no index.
    }
  }

  private static String trace(Throwable failure) {
    StringWriter text = new StringWriter();
    failure.printStackTrace(new PrintWriter(text));
    return text.toString();
  }
}
