/* The modes of a Supervisor: detumble by coils, turn the z axis to the Sun by wheels, point. */
static void answer(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS])
{
    real row[7 + WHEELS + 3], omega[3], sun[3], speed, deviation;
    const real *target = observation + TARGET, *q = memory->attitude;
    int i, lit = acquire(memory, observation, omega, sun);
    int known = memory->known[0] > (real)0 ? 1 : 0;
    int mode = (memory->started != 0) ? (int)memory->mode[0] : 0;
    speed = SQRT(dot(omega, omega));
    deviation = SQRT(memory->covariance[0] + memory->covariance[7] + memory->covariance[14]);
    if (mode == 0 && speed < CALM) { mode = 1; }
    if (speed > TUMBLING) { mode = 0; }
    if (mode == 1 && known != 0 && deviation < SURE && (lit == 0 || sun[2] > NEAR)) { mode = 2; }
    if (mode == 2 && known == 0) { mode = 1; }
    memory->mode[0] = (real)mode;
    if (mode == 2) { /* conj(target) o q */
        real v[3] = {target[0] * q[1] - q[0] * target[1], target[0] * q[2] - q[0] * target[2],
                     target[0] * q[3] - q[0] * target[3]};
        add_cross(q + 1, target + 1, v);
        row[0] = target[0] * q[0] + dot(target + 1, q + 1);
        for (i = 0; i < 3; i++) { row[1 + i] = v[i]; }
    } else if (lit == 0 || sun[2] < -(real)1 + (real)1e-6) {
        for (i = 0; i < 4; i++) {
            row[i] = i == lit ? (real)1 : (real)0; /* no turn, or half a turn about x */
        }
    } else {
        row[0] = SQRT(FMAX(((real)1 + sun[2]) / (real)2, (real)0));
        row[1] = sun[1] / (real)2 / FMAX(row[0], (real)1e-3);
        row[2] = -sun[0] / (real)2 / FMAX(row[0], (real)1e-3);
        row[3] = 0;
    }
    for (i = 0; i < 3; i++) { row[4 + i] = omega[i] / RATE_LIMIT; }
    for (i = 0; i < WHEELS; i++) { row[7 + i] = observation[SHOWN + i]; }
    for (i = 0; i < 3; i++) { row[7 + WHEELS + i] = observation[FIELD_SEEN + i]; }
    damp(memory, row, action + WHEELS);
    if (mode != 0) { point(memory, row, action); }
    for (i = 0; mode == 0 && i < WHEELS; i++) { action[i] = 0; }
}
