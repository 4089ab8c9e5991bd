"""From a file to a verified derivative, by the real command and in the real container."""

from pathlib import Path

import pytest

from tests.e2e.conftest import Desk
from tests.e2e.manifests import STATIONS, STATIONS_CSV, WARM

ROOT, DERIVED = "net.example.stations", "net.example.warm"


def flip_a_bit(path: Path) -> None:
    """Damage a file in its middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def lay_out(desk: Desk) -> None:
    """The manifests and the file of the story."""
    desk.write("stations.csv", STATIONS_CSV)
    desk.write("stations.yaml", STATIONS)
    desk.write("warm.yaml", WARM)


def test_a_root_from_a_file(plain_desk: Desk) -> None:
    desk = plain_desk
    lay_out(desk)
    assert "would add net.example.stations (root)" in desk.odf("add", "-n", "stations.yaml")
    assert desk.json("ls") == []
    desk.odf("add", "stations.yaml")
    assert desk.rows(f'select count(*) from "{ROOT}"') == [[0]]
    assert "+3 rows" in desk.odf("pull", ROOT)
    assert desk.rows(f'select "offset", op, event_time, station, temp_c, wet from "{ROOT}"') == [
        [0, 0, "2024-03-01T06:00:00Z", "harbour", 4.5, True],
        [1, 0, "2024-03-01T06:00:00Z", "hill", 1.25, False],
        [2, 0, "2024-03-01T12:00:00Z", "harbour", None, True],
    ]
    before = desk.json("log", ROOT)
    assert "up to date" in desk.odf("pull", "--all")
    assert desk.json("log", ROOT) == before
    assert "hill" not in desk.odf("tail", ROOT, "-n", "1", "-o", "csv")
    shown = desk.odf("log", ROOT, "-o", "yaml")
    assert all(word in shown for word in ("blockHash", "outputSlice", "numRecords"))
    assert "ok" in desk.odf("verify", ROOT)


@pytest.mark.docker
def test_a_derivative_in_the_container(desk: Desk) -> None:
    lay_out(desk)
    desk.odf("add", "warm.yaml", "stations.yaml")
    desk.odf("pull", "-r", DERIVED)
    expected = [["harbour", 9.0], ["hill", 2.5]]
    assert desk.rows(f'select station, doubled from "{DERIVED}"') == expected
    (event,) = [block["event"] for block in desk.json("log", DERIVED, "-n", "1")]
    assert event["kind"] == "executeTransform"
    assert event["engine"]["runner"] == "docker"
    assert event["engine"]["imageDigest"].startswith("sha256:")
    assert event["engine"]["buildId"].startswith("sha256:")
    assert "replay 1/1" in desk.odf("verify", "-r", DERIVED)
    assert "everything is up to date" in desk.odf("pull", "--all")
    (part,) = desk.folder.glob(f".odf/datasets/*/data/{event['newData']['physicalHash']}")
    flip_a_bit(part)
    told = desk.odf("verify", DERIVED, exits=5)
    assert DERIVED in told
    assert part.name in told
    assert "1620" in desk.odf("sql", "-c", f'select * from "{DERIVED}"', exits=5)
    flip_a_bit(part)
    desk.odf("verify", DERIVED)


def test_bad_input_is_told_with_its_place_and_adds_nothing(plain_desk: Desk) -> None:
    desk = plain_desk
    lay_out(desk)
    desk.write("stations.yaml", STATIONS.replace("header: true", "heather: yes please"))
    told = desk.odf("add", "stations.yaml", exits=4)
    assert "stations.yaml:12:7" in told
    assert "did you mean 'header'?" in told
    desk.write("stations.yaml", STATIONS.replace("TIMESTAMP(3)", "TIMESTAMPS"))
    assert "stations.yaml:14:" in desk.odf("add", "stations.yaml", exits=4)
    assert "no file absent.yaml" in desk.odf("add", "absent.yaml", exits=3)
    assert desk.json("ls") == []
    desk.write("stations.yaml", STATIONS.replace("url: stations.csv", "url: gone.csv"))
    desk.odf("add", "stations.yaml")
    head = desk.head(ROOT)
    assert "gone.csv" in desk.odf("pull", ROOT, exits=3)
    desk.write("gone.csv", STATIONS_CSV.replace("1.25", "one and a bit"))
    assert "gone.csv:3" in desk.odf("pull", ROOT, exits=4)
    assert desk.head(ROOT) == head
    assert "did you mean" in desk.odf("show", "net.example.station", exits=3)


@pytest.mark.spark
def test_a_query_that_cannot_run_is_told_at_its_line(plain_desk: Desk) -> None:
    desk = plain_desk
    lay_out(desk)
    desk.write("warm.yaml", WARM.replace("FROM s", "FORM s"))
    assert "warm.yaml:14:" in desk.odf("add", "stations.yaml", "warm.yaml", exits=4)
    desk.write("warm.yaml", WARM.replace("temp_c * 2", "temp_f * 2"))
    told = desk.odf("add", "stations.yaml", "warm.yaml", exits=4)
    assert "warm.yaml:13:" in told
    assert "temp_f" in told
    assert desk.json("ls") == []


def test_without_a_workspace_the_way_out_is_told(tmp_path: Path) -> None:
    desk = Desk(folder=tmp_path, environment={})
    assert "odf init" in desk.odf("ls", exits=3)
    assert "Did you mean 'pull'" in desk.odf("pul", exits=2)
    assert "usage" in desk.odf("--help").lower()
    assert list(tmp_path.iterdir()) == []
