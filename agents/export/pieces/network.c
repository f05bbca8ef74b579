/* a * b + c with one rounding, as in training; with two under RBGYM_NO_FMA, where fma is slow. */
static real multiply_add(real a, real b, real c)
{
#ifdef RBGYM_NO_FMA
    return a * b + c;
#else
    return FMA(a, b, c);
#endif
}

/* tanh(x) = x P(x^2) / Q(x^2), to round-off of float32. */
static real squashed(real x)
{
    real s, p, q;
    x = clipped(x, (real)8);
    s = x * x;
    p = multiply_add(s, TANH_P[3], TANH_P[2]);
    p = multiply_add(s, multiply_add(s, multiply_add(s, p, TANH_P[1]), TANH_P[0]), (real)1);
    q = multiply_add(s, TANH_Q[3], TANH_Q[2]);
    q = multiply_add(s, multiply_add(s, multiply_add(s, q, TANH_Q[1]), TANH_Q[0]), (real)1);
    return x * p / q;
}

static real activated(real x)
{
    real t;
    if (ACTIVATION == 0) { /* tanh */
        return squashed(x);
    }
    if (ACTIVATION == 1) { /* relu */
        return x < (real)0 ? (real)0 : x;
    }
    /* elu: exp(x) - 1 = 2 t / (1 - t), t = tanh(x / 2) */
    t = squashed((real)0.5 * (x < (real)0 ? x : (real)0));
    return x < (real)0 ? (real)2 * t / ((real)1 - t) : x;
}

static void answer(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS])
{
    real seen[OBSERVATIONS + REMEMBERED], x[WIDEST] = {0}, y[WIDEST];
    const real *w = WEIGHTS;
    const double clip = (double)CLIP;
    int layer, i, o;
    (void)memory;
    for (i = 0; i < OBSERVATIONS; i++) { seen[i] = observation[i]; }
    for (i = 0; QUATERNIONS[i] >= 0; i++) { make_canonical(seen + QUATERNIONS[i]); }
#if REMEMBERED > 0
    remember(memory, seen);
#endif
    for (i = 0; i < INPUTS; i++) {
        double z = ((double)seen[SHOWS[i]] - MEAN[i]) * SCALE[i];
        x[i] = (real)(z > clip ? clip : (z < -clip ? -clip : z));
    }
    for (layer = 0; layer < LAYERS; layer++) {
        const int inputs = SIZES[layer], outputs = SIZES[layer + 1];
        const real *bias = w + inputs * outputs;
        for (o = 0; o < outputs; o++) {
            y[o] = bias[o];
            for (i = 0; i < inputs; i++) { y[o] = multiply_add(w[o * inputs + i], x[i], y[o]); }
        }
        w = bias + outputs;
        for (o = 0; o < outputs; o++) { x[o] = layer + 1 < LAYERS ? activated(y[o]) : y[o]; }
    }
    for (i = 0; i < ACTIONS; i++) {
        action[i] = clipped(x[i], BOUND);
        if (SQUASHES != 0) { action[i] = squashed(action[i]); }
    }
}
