"""Colours of all pictures, as (red, green, blue) from 0 to 255.

Those that carry a meaning are of Okabe and Ito (2008), Color Universal Design, which people with
every kind of colour vision tell apart.
"""

Color = tuple[int, int, int]

ANGULAR_VELOCITY: Color = (230, 159, 0)  # orange
ANGULAR_MOMENTUM: Color = (204, 121, 167)  # reddish purple
TORQUE: Color = (213, 94, 0)  # vermillion
FORCE: Color = (0, 114, 178)  # blue
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
METAL: Color = (176, 186, 199)
METAL_DARK: Color = (120, 132, 150)
CELL: Color = (44, 78, 128)  # of a solar panel
FOIL: Color = (226, 184, 90)
WHITE: Color = (240, 243, 246)
STATION: Color = (198, 205, 214)
