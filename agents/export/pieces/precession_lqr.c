/* N = -K x along the line of nodes, across it and along the axis; see PrecessionLQR. */
static void torque(const real q[4], const real omega[3], const real wanted[3], real u[3])
{
    real then[4], up[3], x[4], N[3], sine, n_x, n_y, turn, c, s, w_x, w_y;
    int i, k;
    (void)wanted;
    half_a_period_ahead(q, omega, then);
    vertical(then, up);
    sine = fmax(sqrt(up[0] * up[0] + up[1] * up[1]), (real)1e-6);
    n_x = up[1] / sine, n_y = -up[0] / sine; /* and across it (-n_y, n_x) */
    turn = DT / 2 * omega[2], c = cos(turn), s = sin(turn);
    w_x = c * omega[0] + s * omega[1], w_y = c * omega[1] - s * omega[0];
    x[0] = atan2(sine, up[2]) - atan2(SIN_NUTATION, COS_NUTATION);
    x[1] = w_x * n_x + w_y * n_y;
    x[2] = (w_y * n_x - w_x * n_y) / sine - PRECESSION;
    x[3] = omega[2] - ALONG;
    for (i = 0; i < 3; i++)
        for (k = 0, N[i] = 0; k < 4; k++)
            N[i] -= GAIN[i][k] * x[k];
    u[0] = N[0] * n_x - N[1] * n_y;
    u[1] = N[0] * n_y + N[1] * n_x;
    u[2] = 0;
    limit(u);
    u[2] = clipped(N[2], LIMITS[2]);
}
