"""Ways to damage a file, and files that would run something if they were loaded carelessly."""

import json
import os
import pickle


def cut(content, draw):
    """The file as far as it was written."""
    return content[: draw.randrange(len(content))]


def flipped(content, draw):
    """One to eight bits are others."""
    changed = bytearray(content)
    for _ in range(draw.randint(1, 8)):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def zeroed(content, draw):
    """A block of zeros, as after a crash of the machine."""
    first = draw.randrange(len(content))
    return content[:first] + bytes(len(content[first : first + 512])) + content[first + 512 :]


def spliced(content, draw):
    """A piece of the file stands at another place of it."""
    piece = content[draw.randrange(len(content)) :][: draw.randint(1, 64)]
    first = draw.randrange(len(content))
    return content[:first] + piece + content[first + draw.randint(0, 64) :]


def noise(content, draw):
    """Something else."""
    return draw.randbytes(draw.randint(0, 300))


DAMAGES = (cut, flipped, zeroed, spliced, noise)

# What stands in a value's place: other types, numbers out of range, depth, and names.
OTHERS = [None, True, -1, 0, 1.5, 10**40, 1e308, float("nan"), float("inf"), "", "nan", "x" * 5000]
OTHERS += [[], {}, [[]], {"a": 1}, [1, 2], [None], "os.system", "../../x", "Sequential", "Lambda"]


def deep(levels=100_000):
    """JSON of so many lists, each in the one before."""
    return "[" * levels + "]" * levels


def twisted(text, draw):
    """A JSON document, one value of which is another."""
    content = json.loads(text)
    place = content
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw.choice(keys)
        inner = place[key]
        if not (isinstance(inner, dict | list) and inner and draw.random() < 0.7):
            break
        place = inner
    if isinstance(place, dict) and draw.random() < 0.2:
        del place[key]
    else:
        place[key] = draw.choice(OTHERS)
    return json.dumps(content)


class Payload:
    """Makes a file where it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.open, (self.path, os.O_CREAT | os.O_WRONLY)


def payload(path):
    """A pickle which makes a file when it is loaded."""
    return pickle.dumps(Payload(path))
