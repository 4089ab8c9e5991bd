package odf;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.ZoneOffset;
import java.util.Locale;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Constant texts that a query turns into the present: 'now', 'today', 'tomorrow', 'yesterday'.
 *
 * <p>Spark's optimizer replaces a cast of such a text to a date or a time by the clock's (its rule
 * SpecialDatetimeValues). It looks after functions were replaced by what they stand for, so this
 * does too, and it asks Spark itself what the text means.
 */
final class Clocks {
  private final ArrayNode found = Engine.JSON.createArrayNode();

  private Clocks() {}

  /** [{"text", "line", "column"}] of an analysed plan, without the place where it is not known. */
  static ArrayNode in(LogicalPlan analysed) {
    Clocks clocks = new Clocks();
    clocks.look(ReplaceExpressions$.MODULE$.apply(analysed));
    return clocks.found;
  }

  private void look(LogicalPlan plan) {
    for (Expression each : CollectionConverters.asJava(plan.expressions()))
      look(each, plan.origin());
    for (LogicalPlan child : CollectionConverters.asJava(plan.children())) look(child);
  }

  private void look(Expression e, Origin around) {
    Origin origin = e.origin().line().isDefined() ? e.origin() : around;
    if (e instanceof Cast cast && isTime(cast)) {
      String text = constant(cast.child());
      if (text != null && isPresent(text)) tell(text, origin);
    }
    for (Expression child : CollectionConverters.asJava(e.children())) look(child, origin);
  }

  private static boolean isTime(Cast cast) {
    return cast.dataType() instanceof DateType
        || cast.dataType() instanceof TimestampType
        || cast.dataType() instanceof TimestampNTZType;
  }

  /** The text, or null when it is none, or is not the same for all rows. */
  private static String constant(Expression e) {
    if (!(e.dataType() instanceof StringType) || !e.foldable()) return null;
    try {
      Object value = e.eval(null);
      return value == null ? null : value.toString();
    } catch (RuntimeException failing) {
      return null; // It fails in the optimizer just so, and never has a value.
    }
  }

  private static boolean isPresent(String text) {
    boolean special =
        DateTimeUtils.convertSpecialDate(text, ZoneOffset.UTC).isDefined()
            || DateTimeUtils.convertSpecialTimestamp(text, ZoneOffset.UTC).isDefined()
            || DateTimeUtils.convertSpecialTimestampNTZ(text, ZoneOffset.UTC).isDefined();
    return special && !text.strip().toLowerCase(Locale.ROOT).startsWith("epoch");
  }

  private void tell(String text, Origin origin) {
    ObjectNode each = found.addObject();
    each.put("text", text);
    PlanReport.putOrigin(each, origin);
  }
}
