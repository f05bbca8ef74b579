/* The fraction of the straight turn at which the boresight a comes too near to the middle of a
   cone, 2 if it never does. turn: the attitude relative to the detour's next target. */
static real past(const real q[4], const real middle[3], const real a[3], real half, real turn[4])
{
    const real one[4] = {1, 0, 0, 0};
    real v[3], e[3], way[3], closest[3] = {0, 0, 0}, towards[3], across[3] = {0, 0, 0};
    real bearing[3] = {0, 0, 0}, near[PLACES], angle, beta, cosine, gamma, off, side;
    real most = -(real)2, at = (real)2;
    int i, k;
    nearer(q, v);
    angle = (real)2 * ATAN2(direction(v, e), FABS(q[0]));
    for (k = 0; k < PLACES; k++) {
        ahead(one, e, angle * PART[k], turn);
        rotate(turn, -(real)1, a, way);
        near[k] = dot(way, middle);
        if (near[k] > most) {
            most = near[k];
            for (i = 0; i < 3; i++) { closest[i] = way[i]; }
        }
    }
    beta = FMIN(half + MARGIN, (half + ACOS(clipped(near[PLACES - 1], (real)1))) / (real)2);
    for (k = PLACES - 1; k >= 0; k--) { at = near[k] > COS(beta) ? PART[k] : at; }
    cosine = clipped(dot(middle, a), (real)1);
    gamma = ACOS(cosine);
    for (i = 0; i < 3; i++) { towards[i] = middle[i] - cosine * a[i]; }
    off = FMAX(SQRT(dot(towards, towards)), (real)1e-9);
    for (i = 0; i < 3; i++) { towards[i] /= off; }
    add_cross(a, towards, across);
    side = dot(closest, across) < -MARGIN ? -(real)1 : (real)1;
    off = ASIN(FMIN(SIN(beta) / FMAX(SIN(gamma), (real)1e-9), (real)1));
    off = gamma < beta ? HALF_PI + beta - gamma : off;
    for (i = 0; i < 3; i++) { v[i] = COS(off) * towards[i] + side * SIN(off) * across[i]; }
    add_cross(v, a, bearing);
    ahead(one, bearing, FMAX(gamma, (real)0.3), turn);
    return most > cosine ? at : (real)2; /* a boresight that only moves away needs no detour */
}

/* The torque of AttitudePD straight to the target, or past the first cone; see Detour. */
static void torque(const sight *now, real u[3])
{
    real v[3], turn[4], wanted[4], soonest = (real)2, at;
    int i, k;
    for (i = 0; i < 4; i++) { wanted[i] = now->q[i]; }
    for (k = 0; k < CONES; k++) {
        at = past(now->q, now->q + MIDDLES + 3 * k, BORESIGHTS[k], HALF[k], turn);
        if (at < soonest) {
            soonest = at;
            for (i = 0; i < 4; i++) { wanted[i] = turn[i]; }
        }
    }
    nearer(wanted, v);
    ease(v);
    turning(v, now->omega, now->wanted, now->swing, u);
    add_gyroscopic_torque(now->omega, u);
    limit(u);
}
