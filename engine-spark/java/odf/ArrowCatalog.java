package odf;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The only catalog of the session: its tables are the inputs of the current call, nothing else. */
public final class ArrowCatalog implements TableCatalog {
  private static volatile Map<String, InputTable> tables = Map.of();

  private String name;

  static void replaceTables(List<InputTable> inputs) {
    Map<String, InputTable> next = new LinkedHashMap<>();
    for (InputTable each : inputs)
      if (next.put(key(each.name()), each) != null)
        throw new IllegalArgumentException("two inputs are named " + each.name());
    tables = next;
  }

  /** Identifiers differ by more than letter case, as everywhere in the session. */
  private static String key(String alias) {
    return alias.toLowerCase(Locale.ROOT);
  }

  @Override
  public void initialize(String catalogName, CaseInsensitiveStringMap options) {
    name = catalogName;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Identifier[] listTables(String[] namespace) {
    return tables.values().stream()
        .map(table -> Identifier.of(new String[0], table.name()))
        .toArray(Identifier[]::new);
  }

  @Override
  public Table loadTable(Identifier identifier) throws NoSuchTableException {
    InputTable table =
        identifier.namespace().length == 0 ? tables.get(key(identifier.name())) : null;
    if (table == null) throw new NoSuchTableException(identifier);
    return table;
  }

  @Override
  public Table alterTable(Identifier identifier, TableChange... changes) {
    throw new UnsupportedOperationException("inputs are read-only");
  }

  @Override
  public boolean dropTable(Identifier identifier) {
    throw new UnsupportedOperationException("inputs are read-only");
  }

  @Override
  public void renameTable(Identifier from, Identifier to) {
    throw new UnsupportedOperationException("inputs are read-only");
  }
}
