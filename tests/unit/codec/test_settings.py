"""Settings in files: what people wrote stays as they wrote it."""

import pytest
from odf_coordinator.codec import settings
from odf_coordinator.errors import Invalid

TEXT = """\
# mine
[engine]
cpus = 2   # both
  memory = "3g"
"""


def test_a_setting_changes_and_the_rest_stays() -> None:
    assert settings.edited(TEXT, "engine.memory", "1g") == TEXT.replace(
        '  memory = "3g"', 'memory = "1g"'
    )
    assert settings.edited(TEXT, "engine.runner", "auto").startswith(
        '# mine\n[engine]\nrunner = "auto"\n'
    )
    assert settings.edited(TEXT, "engine.memory", None) == TEXT.replace('  memory = "3g"\n', "")
    assert settings.edited(TEXT, "engine.image", None) == TEXT


@pytest.mark.parametrize("text", ["", "engine.cpus = 3\n", "engine = {cpus = 3}\n"])
def test_a_file_in_any_spelling_can_be_changed(text: str) -> None:
    changed = settings.edited(text, "engine.cpus", 1.5)
    assert settings.decode(changed, "f") == {"engine.cpus": 1.5}
    assert settings.decode(settings.edited(changed, "engine.cpus", None), "f") == {}


def test_values_come_back_as_they_were() -> None:
    values = {"engine.image": 'a"\\b', "engine.allow_unsandboxed": True, "engine.cpus": 0.5}
    assert settings.decode(settings.encode(values), "f") == values


@pytest.mark.parametrize("text", ["[engine", "[engine]\ncpus = 'x'\n", "a = 1\n", "engine = 1\n"])
def test_what_is_no_setting_is_refused_with_the_file(text: str) -> None:
    with pytest.raises(Invalid, match=r"^f: "):
        settings.decode(text, "f")
