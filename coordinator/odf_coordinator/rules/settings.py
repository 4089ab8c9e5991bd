"""Settings: which there are, what they may be, and which of several layers decides."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from odf_coordinator.errors import Invalid, NotFound

Value = str | bool | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One thing that can be set; `rule` says what it may be, `variable` is its environment one."""

    name: str
    variable: str
    default: Value | None
    rule: str
    parse: Callable[[str], Value | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Settings from one place, which `label` names."""

    label: str
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    """The value that holds, and where it comes from."""

    name: str
    value: Value | None
    origin: str


def _one_of(*choices: str) -> Callable[[str], Value | None]:
    return lambda text: text if text in choices else None


def _size(text: str) -> Value | None:
    return text if re.fullmatch(r"[1-9]\d*[kmg]", text) else None


def _number(text: str) -> Value | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if not 0 < number < float("inf"):
        return None
    return int(number) if number.is_integer() else number


def _flag(text: str) -> Value | None:
    return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(
        text.lower()
    )


SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="engine.runner",
        variable="ODF_RUNNER",
        default="auto",
        rule="auto, docker or process",
        parse=_one_of("auto", "docker", "process"),
    ),
    Setting(
        name="engine.image",
        variable="ODF_ENGINE_IMAGE",
        default=None,
        rule="a tag or digest of an image",
        parse=lambda text: text or None,
    ),
    Setting(
        name="engine.memory",
        variable="ODF_ENGINE_MEMORY",
        default="3g",
        rule="a size such as 512m or 3g",
        parse=_size,
    ),
    Setting(
        name="engine.cpus",
        variable="ODF_ENGINE_CPUS",
        default=2,
        rule="a number above 0",
        parse=_number,
    ),
    Setting(
        name="engine.idle_seconds",
        variable="ODF_ENGINE_IDLE_SECONDS",
        default=600,
        rule="a number above 0",
        parse=_number,
    ),
    Setting(
        name="engine.allow_unsandboxed",
        variable="ODF_ALLOW_UNSANDBOXED",
        default=False,
        rule="true or false",
        parse=_flag,
    ),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}


def setting(name: str) -> Setting:
    """The setting of that name. Raises NotFound with a guess at what was meant."""
    if name in BY_NAME:
        return BY_NAME[name]
    ends = {each.rpartition(".")[2]: each for each in BY_NAME}
    close = difflib.get_close_matches(name, [*BY_NAME, *ends], n=1)
    guess = f"did you mean '{ends.get(close[0], close[0])}'?" if close else ""
    raise NotFound(f"no setting '{name}'", hint=guess or "`odf config ls` shows what there is")


def parse(name: str, text: str, *, where: str = "") -> Value:
    """A value as people write it; `where` names its place. Raises NotFound, Invalid."""
    known = setting(name)
    value = known.parse(text.strip())
    if value is None:
        raise Invalid(f"{where or name} is '{text}'", hint=f"it must be {known.rule}")
    return value


def from_environment(environment: Mapping[str, str]) -> Layer:
    """What the environment sets; an empty variable sets nothing. Raises Invalid."""
    values = {
        each.name: parse(each.name, text, where=each.variable)
        for each in SETTINGS
        if (text := environment.get(each.variable))
    }
    return Layer(label="environment", values=values)


def effective(name: str, layers: Sequence[Layer]) -> Effective:
    """The value of a setting: the first layer that has it decides. Raises NotFound."""
    known = setting(name)
    for layer in layers:
        if name in layer.values:
            return Effective(name=name, value=layer.values[name], origin=layer.label)
    return Effective(name=name, value=known.default, origin="default")
