package odf;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.classic.SparkSession;

/** What the Python side calls. Strings in, strings out; failures of a query are values. */
public final class Engine {
  static final ObjectMapper JSON = new ObjectMapper();

  private SparkSession session;

  /** Starts Spark; every setting is already a system property. */
  public String start() {
    session = (SparkSession) SparkSession.builder().getOrCreate();
    return session.version();
  }

  /** The expression class behind each built-in function name; names that do not exist are left out. */
  public String functionClasses(String names) throws JsonProcessingException {
    Map<String, String> found = new LinkedHashMap<>();
    for (JsonNode name : JSON.readTree(names)) {
      scala.Option<ExpressionInfo> info =
          session
              .sessionState()
              .functionRegistry()
              .lookupFunction(
                  new FunctionIdentifier(
                      name.asText(), scala.Option.apply("builtin"), scala.Option.apply("system")));
      if (info.isDefined()) found.put(name.asText(), info.get().getClassName());
    }
    return JSON.writeValueAsString(found);
  }

  /** Declares the tables of the next query, in place of all earlier ones. */
  public void register(String inputs) throws JsonProcessingException {
    ArrowCatalog.replaceTables(InputTable.fromJson(JSON.readTree(inputs)));
  }

  /** A query over the registered tables; nothing is done with it yet. */
  public Query query(String sql) {
    return new Query(session, sql);
  }

  /** Stops the jobs of a group, also those that it has not started yet. */
  public void cancel(String group) {
    session.sparkContext().cancelJobGroupAndFutureJobs(group);
  }

  /** Rows written so far by the running query. */
  public long rowsWritten() {
    return PartWriter.ROWS_WRITTEN.get();
  }

  public void stop() {
    if (session != null) session.stop();
  }
}
