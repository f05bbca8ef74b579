"""Take the pictures of the interactive page, in a headless Chromium: docs/pictures/view/*.png.

python docs/pictures/view.py [FOLDER]
"""

import io
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import view_page  # noqa: E402

SIZE = (1120, 700)


def shown(window: view_page.Window, file: Path) -> None:
    """Write what a window shows, in 128 colours, its warning of software rendering put away."""
    for close in window.page.locator(".mantine-Notification-closeButton").all():
        close.click()
    window.page.mouse.move(5, 5)
    window.page.wait_for_timeout(800)
    picture = Image.open(io.BytesIO(window.page.screenshot())).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file}: {file.stat().st_size // 1000} kB")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with view_page.served() as (url, _), view_page.window(SIZE) as window:
        window.open(f"{url}?fixedDpr=1")
        window.wait(lambda: "failed at t" in window.status(), 400.0)
        time = window.time()
        window.wait(lambda: window.time() > time + 2.0, 60.0)
        shown(window, folder / "side_by_side.png")
    policies = [part for name in ("pd", "pretrained", "bang_bang") for part in ("--policy", name)]
    task = ("--env", "AttitudeSlew-v1", *policies, "--seed", "3", "--speed", "2")
    with view_page.served(*task) as (url, _), view_page.window(SIZE) as window:
        window.open(f"{url}?fixedDpr=1")
        window.wait(lambda: window.time() > 9.0, 120.0)
        shown(window, folder / "task.png")
    pushed = ("--env", "RigidTop-v0", "--policy", "pd", "--policy", "lqr")
    pushed += ("--env-arg", "termination=none", "--seed", "2")
    with view_page.served(*pushed) as (url, _), view_page.window(SIZE) as window:
        window.open(f"{url}?fixedDpr=1")
        window.tab("Push")
        window.wait(lambda: window.time() > 1.0, 120.0)
        window.put("Torque x", 0.25)
        window.wait(lambda: window.time() > 2.5, 120.0)
        window.put("Torque y", -0.2)
        window.wait(lambda: window.time() > 4.0, 120.0)
        shown(window, folder / "push.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "view")
