/* u = J (2 n^2 q_v - 2 z n g_t - g_s / T + p o x omega) + omega x J omega + m g l e x o, with the
   attitude half a period ahead; see AxisPD. The weight's torque has the slope of the potential. */
static void torque(const sight *now, real u[3])
{
    real omega[3], then[4], before[3], up[3], to[3], gap[3], error[3] = {0, 0, 0}, turn[3] = {0, 0, 0};
    real weight[3] = {0, 0, 0};
    real height, size, bend, spin;
    int i;
    ahead(now->q, now->omega, DT / (real)2, then);
    vertical(now->q, before);
    vertical(then, up);
    for (i = 0; i < 3; i++) { omega[i] = now->omega[i] + PRECESSION * (up[i] - before[i]); }
    height = dot(up, AXIS);
    for (i = 0; i < 3; i++) { to[i] = AXIS[i] - height * up[i]; }
    size = FMAX(SQRT(dot(to, to)), (real)1e-9);
    for (i = 0; i < 3; i++) {
        to[i] = COS_NUTATION * up[i] + SIN_NUTATION * to[i] / size;
        gap[i] = omega[i] - PRECESSION * up[i] - SPIN * AXIS[i];
    }
    add_cross(AXIS, to, error);
    bend = SQRT((real)2 * FMAX((real)1 + dot(to, AXIS), (real)1e-9));
    add_cross(up, omega, turn);
    add_cross(AXIS, up, weight);
    for (i = 0; i < 3; i++) {
        u[i] = dot(STIFFNESS[i], error) / bend - dot(DRAG[i], gap)
            + PRECESSION * dot(INERTIA[i], turn) + slope(height) * weight[i];
    }
    add_gyroscopic_torque(omega, u);
    spin = dot(u, AXIS);
    for (i = 0; i < 3; i++) { u[i] -= spin * AXIS[i]; }
    limit(u);
    for (i = 0; i < 3; i++) { u[i] = clipped(u[i] + spin * AXIS[i], LIMITS[i]); }
}
