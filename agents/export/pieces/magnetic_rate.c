/* u = -k omega, of which coils make the part across the field; see MagneticRate. */
static void torque(const sight *now, real u[3])
{
    int i;
    for (i = 0; i < 3; i++) { u[i] = -DRAG * now->omega[i]; }
}
