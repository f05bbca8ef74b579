"""Colours of all pictures, as (red, green, blue) from 0 to 255; colours with a meaning are from
Okabe and Ito (2008), Color Universal Design, for every kind of colour vision."""

Color = tuple[int, int, int]

ANGULAR_VELOCITY: Color = (230, 159, 0)  # orange
ANGULAR_MOMENTUM: Color = (204, 121, 167)  # reddish purple
TORQUE: Color = (213, 94, 0)  # vermillion
FORCE: Color = (86, 180, 233)  # sky blue: no picture has both a force and a field
FIELD: Color = (86, 180, 233)  # sky blue
GOAL: Color = (0, 158, 115)  # bluish green
FORBIDDEN: Color = (213, 94, 0)

INK: Color = (38, 44, 54)
FAINT: Color = (122, 131, 145)
AXES: Color = (70, 78, 92)
TRACE: Color = (0, 114, 178)
ABOVE: Color = (250, 251, 252)  # background, from the top of the picture
BELOW: Color = (224, 230, 237)  # to its bottom

# Solids.
METAL: Color = (192, 201, 212)
METAL_DARK: Color = (106, 134, 172)
CELL: Color = (58, 96, 150)  # of a solar panel
FOIL: Color = (226, 184, 90)
WHITE: Color = (240, 243, 246)
STATION: Color = (198, 205, 214)
OUTLINE: Color = (74, 84, 100)
FLOOR: Color = (214, 221, 230)
FLOOR_INNER: Color = (205, 213, 223)
SHADOW: Color = (170, 180, 194)
GHOST: Color = (205, 230, 224)  # a light tint of GOAL
WALL: Color = (214, 208, 204)
RIM: Color = (86, 94, 108)  # of wheels


def mixed(color: Color, share: float, ground: Color) -> Color:
    """A blend of `color`, with the weight `share` from 0 to 1, and `ground`."""
    red, green, blue = (round(g + share * (c - g)) for c, g in zip(color, ground, strict=True))
    return red, green, blue
