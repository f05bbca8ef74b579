/* The force that brings the body to the size of the desired spin; see SpinByScale. */
static void answer(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS])
{
    real omega[3], u[3], spin, wanted, force, s = observation[WIDTH];
    int i;
    (void)memory;
    spin = observation[7] * SPIN_SCALE;
    spin = FABS(spin) > (real)1e-6 ? spin : (real)1e-6;
    for (i = 0; i < 3; i++) { omega[i] = observation[4 + i] * RATE_LIMIT; }
    for (i = 0; i < 3; i++) { u[i] = dot(INERTIA[i], omega); }
    wanted = s * SQRT(FMAX(omega[2] / spin, (real)0));
    force = STIFFNESS * (s - wanted) + DRAG * observation[WIDTH + 1];
    action[0] = clipped((-s * dot(omega, u) - HALF_TRACE * force) / FORCE, (real)1);
}
