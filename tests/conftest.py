"""Windows of tests, and of what they start, are opened on no screen."""

import os

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
