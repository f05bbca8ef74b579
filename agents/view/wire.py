"""What a page may send: the four messages that its controls and its camera need, and no other.

viser acts on every message type it knows, and sets whatever field of a control a message names.
Anything that is not one of these, to the letter, is dropped before viser sees it: other types (one
would ask for a public address, another would upload a file), other fields, numbers that are not
finite, frames that are no MessagePack at all.
"""

import math
from typing import Annotated, Literal, TypeAlias

import msgspec

_LARGEST = 1e9

Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=64)]
Number: TypeAlias = Annotated[float, msgspec.Meta(ge=-_LARGEST, le=_LARGEST)]
Value: TypeAlias = (
    bool
    | Number
    | Annotated[str, msgspec.Meta(max_length=200)]
    | Annotated[list[Number], msgspec.Meta(max_length=4)]
    | None
)
Vector: TypeAlias = tuple[Number, Number, Number]
Pixels: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=100_000)]


class _Message(msgspec.Struct, tag_field="type", tag=True, forbid_unknown_fields=True):
    pass


class GuiUpdateMessage(_Message):
    """A control has a new value, or a button was pressed."""

    uuid: Name
    updates: dict[Literal["value"], Value]


class GuiButtonHoldMessage(_Message):
    """A button is held."""

    uuid: Name
    frequency: Number


class CommandTriggerMessage(_Message):
    """A key was pressed."""

    uuid: Name


class ViewerCameraMessage(_Message):
    """The camera has moved."""

    wxyz: tuple[Number, Number, Number, Number]
    position: Vector
    fov: Number
    near: Number
    far: Number
    image_height: Pixels
    image_width: Pixels
    look_at: Vector
    up_direction: Vector


_DECODER = msgspec.msgpack.Decoder(
    GuiUpdateMessage | GuiButtonHoldMessage | CommandTriggerMessage | ViewerCameraMessage
)


def admissible(frame: str | bytes) -> bool:
    """Whether a frame from a browser is one of the four messages."""
    try:
        message = _DECODER.decode(frame if isinstance(frame, bytes) else b"")
    except (ValueError, RecursionError):  # of msgspec, and of text that is not UTF-8
        return False
    value = message.updates.get("value") if isinstance(message, GuiUpdateMessage) else None
    return not (isinstance(value, str) and _is_endless(value))


def _is_endless(text: str) -> bool:
    """Whether viser would make a number of a text that is not finite, as of "nan"."""
    try:
        return not math.isfinite(float(text))
    except ValueError:
        return False
