"""Render modes and frame rates, which an env tells without drawing anything."""

MODES = ("human", "rgb_array")
FRAME_RATES = 10, 60  # least and most frames per second


def frame_rate(dt: float) -> int:
    """Frames per second at which an env with this control period [s] is shown in its own time;
    a faster one is shown in slow motion, a slower one in fast."""
    least, most = FRAME_RATES
    return round(min(max(1.0 / max(dt, 1.0 / most), least), most))


def checked_mode(render_mode: str | None) -> str | None:
    """A render mode, or a ValueError."""
    if render_mode is not None and not (isinstance(render_mode, str) and render_mode in MODES):
        raise ValueError(f"render_mode must be None or one of {list(MODES)}, got {render_mode!r}")
    return render_mode
