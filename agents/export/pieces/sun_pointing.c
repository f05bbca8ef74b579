/* Turns the body z axis to the Sun by the shortest way, about x if it points straight away; in the
   dark it only damps the rates. See SunPointing. */
static void torque(const sight *now, real u[3])
{
    real sun[3], half;
    real lever[3] = {0, 0, 0}, v[3];
    int i;
    (void)find_sun(now->q, sun);
    lever[0] = -sun[1] + (sun[2] < -OPPOSITE ? NUDGE : (real)0);
    lever[1] = sun[0];
    half = SQRT(FMAX(((real)1 - sun[2]) / (real)2, (real)0));
    half /= FMAX(SQRT(dot(lever, lever)), (real)1e-9);
    for (i = 0; i < 3; i++) { v[i] = -half * lever[i]; }
    turning(v, now->omega, now->wanted, now->swing, u);
    add_gyroscopic_torque(now->omega, u);
    limit(u);
}
