package odf;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** One query on its way: parsed, then analysed, then run. Each step needs the one before it. */
public final class Query {
  private final SparkSession session;
  private final String sql;
  private LogicalPlan plan;
  private Dataset<Row> rows;

  Query(SparkSession session, String sql) {
    this.session = session;
    this.sql = sql;
  }

  private interface Step {
    void into(ObjectNode answer) throws Exception;
  }

  /** Runs a step with this session's settings: the parser asks for those of the thread. */
  private String answer(Step step) {
    ObjectNode answer = Engine.JSON.createObjectNode();
    SparkSession.setActiveSession(session);
    try {
      step.into(answer);
    } catch (Throwable failure) {
      answer.removeAll();
      answer.set("error", Failure.describe(failure));
    }
    return answer.toString();
  }

  /** {"plan": report} or {"error": failure}. Only reads the text. */
  public String parse() {
    return answer(
        answer -> {
          plan = session.sessionState().sqlParser().parsePlan(sql);
          answer.set("plan", PlanReport.of(plan));
        });
  }

  /**
   * {"plan": report, "clocks": texts that mean the present} or {"error": failure}. Call only after
   * the parsed plan was accepted.
   */
  public String analyse() {
    return answer(
        answer -> {
          rows = Dataset.ofRows(session, plan);
          LogicalPlan analysed = rows.queryExecution().analyzed();
          answer.set("plan", PlanReport.of(analysed));
          answer.set("clocks", Clocks.in(analysed));
        });
  }

  /**
   * Runs the query into one Arrow file whose columns have the given types.
   *
   * <p>{"rows": {tick position: count}} or {"error": failure}; without rows there is no file.
   */
  public String write(String out, String schema, String group) {
    SparkContext context = session.sparkContext();
    return answer(
        answer -> {
          context.setJobGroup(group, group, true);
          try {
            PartWriter.ROWS_WRITTEN.set(0);
            cast(rows, (StructType) DataType.fromJson(schema))
                .write()
                .format(ArrowSink.class.getName())
                .option(ArrowSink.OUT, out)
                .mode("append")
                .save();
            JsonNode counts = Engine.JSON.valueToTree(ArrowSink.takeRowCounts(out));
            answer.set("rows", counts);
          } finally {
            context.clearJobGroup();
          }
        });
  }

  private static Dataset<Row> cast(Dataset<Row> rows, StructType wanted) {
    StructField[] found = rows.schema().fields();
    Column[] columns = new Column[found.length];
    boolean changed = false;
    for (int i = 0; i < found.length; i++) {
      Column column = rows.col("`" + found[i].name().replace("`", "``") + "`");
      DataType type = wanted.fields()[i].dataType();
      boolean same = type.catalogString().equals(found[i].dataType().catalogString());
      columns[i] = same ? column : column.cast(type).as(found[i].name());
      changed |= !same;
    }
    return changed ? rows.select(columns) : rows;
  }
}
