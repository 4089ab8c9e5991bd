"""Manifests and data of the stories."""

STATIONS_CSV = """\
event_time,station,temp_c,wet
2024-03-01T06:00:00Z,harbour,4.5,true
2024-03-01T06:00:00Z,hill,1.25,false
2024-03-01T12:00:00Z,harbour,,true
"""
STATIONS = """\
apiVersion: 1
kind: DatasetSnapshot
content:
  id: net.example.stations
  source:
    kind: root
    fetch:
      kind: url
      url: stations.csv
    read:
      kind: csv
      header: true
      schema:
        - event_time TIMESTAMP(3)
        - station STRING
        - temp_c DOUBLE
        - wet BOOLEAN
    merge:
      kind: append
"""
WARM = """\
apiVersion: 1
kind: DatasetSnapshot
content:
  id: net.example.warm
  source:
    kind: derivative
    inputs:
      - id: net.example.stations
        alias: s
    transform:
      engine: spark
      query: |
        SELECT event_time, station, temp_c * 2 AS doubled
        FROM s
        WHERE temp_c > 1
"""
