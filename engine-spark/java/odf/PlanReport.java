package odf;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.util.RawValue;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A whole logical plan as one list of nodes, the root first.
 *
 * <p>A node names its children, its inner plans (definitions of common table expressions) and the
 * plans inside its expressions by their index. An expression is the list of its parts in pre-order,
 * each with its depth, so that neither side recurses over long chains of operators. What Spark will
 * put in the place of a function is reported as its last child.
 */
final class PlanReport {
  private static final String METADATA_COLUMN = "__metadata_col";

  private final ArrayNode nodes = Engine.JSON.createArrayNode();

  private PlanReport() {}

  static ArrayNode of(LogicalPlan plan) {
    PlanReport report = new PlanReport();
    report.add(plan);
    return report.nodes;
  }

  private int add(LogicalPlan plan) {
    ObjectNode node = nodes.addObject();
    int index = nodes.size() - 1;
    node.put("class", plan.getClass().getName());
    putOrigin(node, plan.origin());
    putRelation(node, plan);
    ArrayNode output = node.putArray("output");
    if (ask(plan::resolved, false))
      for (Attribute each : list(plan.output())) putAttribute(output.addObject(), each);
    List<Integer> subqueries = new ArrayList<>();
    ArrayNode expressions = node.putArray("expressions");
    for (Expression each : list(plan.expressions()))
      addExpression(expressions.addArray(), each, 0, subqueries);
    ArrayNode children = node.putArray("children");
    for (LogicalPlan child : list(plan.children())) children.add(add(child));
    ArrayNode inner = node.putArray("inner");
    for (Object child : list(plan.innerChildren()))
      if (child instanceof LogicalPlan logical && !list(plan.children()).contains(logical))
        inner.add(add(logical));
    ArrayNode plans = node.putArray("subqueries");
    subqueries.forEach(plans::add);
    return index;
  }

  private void addExpression(ArrayNode out, Expression e, int depth, List<Integer> subqueries) {
    ObjectNode part = out.addObject();
    part.put("class", e.getClass().getName());
    part.put("name", e instanceof UnresolvedFunction f ? functionName(f) : e.prettyName());
    part.put("depth", depth);
    part.put("deterministic", ask(e::deterministic, true));
    putOrigin(part, e.origin());
    boolean resolved = ask(e::resolved, false);
    if (resolved) part.put("type", ask(() -> e.dataType().catalogString(), null));
    if (e instanceof NamedExpression named && resolved) {
      part.put("id", named.exprId().id());
      part.put("alias", named.name());
    }
    if (e instanceof Literal) part.put("text", sourceText(e));
    if (e instanceof PlanExpression<?> holder && holder.plan() instanceof LogicalPlan inner)
      subqueries.add(add(inner));
    for (Expression child : list(e.children())) addExpression(out, child, depth + 1, subqueries);
    if (e instanceof RuntimeReplaceable replaced && resolved) {
      Expression replacement = replaced.replacement();
      if (!list(e.children()).contains(replacement))
        addExpression(out, replacement, depth + 1, subqueries);
    }
  }

  /**
   * The literal as its author wrote it: Spark replaces TIMESTAMP 'now' while it parses.
   *
   * <p>Spark counts code points. Empty when the place is not inside the text.
   */
  private static String sourceText(Expression literal) {
    Origin origin = literal.origin();
    if (origin.sqlText().isEmpty() || origin.startIndex().isEmpty() || origin.stopIndex().isEmpty())
      return literal.toString();
    int[] points = origin.sqlText().get().codePoints().toArray();
    int start = (Integer) origin.startIndex().get();
    int end = (Integer) origin.stopIndex().get() + 1;
    boolean inside = 0 <= start && start <= end && end <= points.length;
    return inside ? new String(points, start, end - start) : "";
  }

  private static String functionName(UnresolvedFunction function) {
    return String.join(".", list(function.nameParts()));
  }

  /** Parts that are not resolved yet, or never have a value, refuse to tell. */
  private static <T> T ask(Supplier<T> question, T otherwise) {
    try {
      return question.get();
    } catch (Exception refused) {
      return otherwise;
    }
  }

  private static void putRelation(ObjectNode node, LogicalPlan plan) {
    if (plan instanceof UnresolvedRelation relation) {
      ArrayNode name = node.putArray("relation");
      list(relation.multipartIdentifier()).forEach(name::add);
      node.put("options", relation.options().size());
      node.put("streaming", relation.isStreaming());
    } else if (plan instanceof DataSourceV2Relation relation
        && relation.table() instanceof InputTable table) {
      node.put("input", table.index());
    } else if (plan instanceof SubqueryAlias alias) {
      node.put("alias", alias.alias());
    } else if (plan instanceof UnresolvedWith with) {
      node.put("recursive", with.allowRecursion());
    } else if (plan instanceof CTERelationDef definition) {
      node.put("cte", definition.id());
    } else if (plan instanceof CTERelationRef reference) {
      node.put("cte", reference.cteId());
    }
  }

  private static void putAttribute(ObjectNode node, Attribute attribute) {
    node.put("id", attribute.exprId().id());
    node.put("name", attribute.name());
    node.putRawValue("type", new RawValue(type(attribute)));
    node.put("system", attribute.metadata().contains(METADATA_COLUMN));
  }

  private static String type(Attribute attribute) {
    return attribute.resolved() ? attribute.dataType().json() : "null";
  }

  static void putOrigin(ObjectNode node, Origin origin) {
    if (origin.line().isDefined()) node.put("line", (Integer) origin.line().get());
    if (origin.startPosition().isDefined())
      node.put("column", (Integer) origin.startPosition().get() + 1);
  }

  private static <T> List<T> list(scala.collection.Seq<T> seq) {
    return CollectionConverters.asJava(seq);
  }
}
