package odf;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * One input: event time and data columns; the system columns are read by name only.
 *
 * <p>Without a file it can be analysed but not read.
 */
final class InputTable implements SupportsRead, SupportsMetadataColumns {
  /** So many record batches of the file are the tick at this position of the call. */
  record Tick(int position, int batches) {}

  private record SystemColumn(String name, DataType dataType) implements MetadataColumn {}

  private final int index;
  private final String alias;
  private final StructType schema;
  private final StructType systemSchema;
  private final String file;
  private final List<Tick> ticks;
  private final long partitionBytes;

  private InputTable(JsonNode input) {
    index = input.get("index").asInt();
    alias = input.get("alias").asText();
    schema = (StructType) DataType.fromJson(input.get("schema").toString());
    systemSchema = (StructType) DataType.fromJson(input.get("system").toString());
    file = input.get("file").isNull() ? null : input.get("file").asText();
    partitionBytes = input.get("partition_bytes").asLong();
    ticks = new ArrayList<>();
    for (JsonNode tick : input.get("ticks"))
      ticks.add(new Tick(tick.get(0).asInt(), tick.get(1).asInt()));
  }

  static List<InputTable> fromJson(JsonNode inputs) {
    List<InputTable> tables = new ArrayList<>();
    for (JsonNode input : inputs) tables.add(new InputTable(input));
    return tables;
  }

  int index() {
    return index;
  }

  String file() {
    return file;
  }

  List<Tick> ticks() {
    return ticks;
  }

  long partitionBytes() {
    return partitionBytes;
  }

  @Override
  public String name() {
    return alias;
  }

  @Override
  public StructType schema() {
    return schema;
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    MetadataColumn[] columns = new MetadataColumn[systemSchema.size()];
    for (int i = 0; i < columns.length; i++)
      columns[i] =
          new SystemColumn(systemSchema.fields()[i].name(), systemSchema.fields()[i].dataType());
    return columns;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(TableCapability.BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new ArrowScan(this);
  }
}
