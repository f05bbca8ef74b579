/* CartPole as Gymnasium publishes it, many at a time: one struct for each, float32, reset in place.
 *
 * Barto, Sutton and Anderson (1983), with the signs of Florian (2007); explicit Euler, dt 0.02.
 * The kind of loop that libraries of environments in C have: what a plain compiler makes of it.
 */
#include <math.h>
#include <stdint.h>

typedef struct {
    float x, v, angle, rate;
    int32_t steps;
    uint32_t noise;
} Cart;

static const float GRAVITY = 9.8f, CART = 1.0f, POLE = 0.1f, HALF = 0.5f, FORCE = 10.0f, DT = 0.02f;
static const float FAR = 2.4f, STEEP = 0.20943951f; /* 12 degrees */
static const int32_t LONGEST = 500;

static float draw(uint32_t *noise) {
    *noise ^= *noise << 13;
    *noise ^= *noise >> 17;
    *noise ^= *noise << 5;
    return 0.1f * (float)(*noise >> 8) / 16777216.0f - 0.05f;
}

static void begin(Cart *c) {
    c->x = draw(&c->noise);
    c->v = draw(&c->noise);
    c->angle = draw(&c->noise);
    c->rate = draw(&c->noise);
    c->steps = 0;
}

static void show(const Cart *c, float *seen) {
    seen[0] = c->x;
    seen[1] = c->v;
    seen[2] = c->angle;
    seen[3] = c->rate;
}

void reset(Cart *carts, long n, float *seen) {
    for (long k = 0; k < n; ++k) {
        carts[k].noise = (uint32_t)(2654435761u * (uint32_t)(k + 1));
        begin(carts + k);
        show(carts + k, seen + 4 * k);
    }
}

void step(Cart *carts, long n, const int64_t *actions, float *seen, float *rewards, uint8_t *ended,
          uint8_t *late) {
    const float whole = CART + POLE;
    for (long k = 0; k < n; ++k) {
        Cart *c = carts + k;
        const float force = actions[k] == 1 ? FORCE : -FORCE;
        const float s = sinf(c->angle), co = cosf(c->angle);
        const float push = (force + POLE * HALF * c->rate * c->rate * s) / whole;
        const float turn = (GRAVITY * s - co * push)
                           / (HALF * (4.0f / 3.0f - POLE * co * co / whole));
        const float pull = push - POLE * HALF * turn * co / whole;
        c->x += DT * c->v;
        c->v += DT * pull;
        c->angle += DT * c->rate;
        c->rate += DT * turn;
        c->steps += 1;
        ended[k] = fabsf(c->x) > FAR || fabsf(c->angle) > STEEP;
        late[k] = c->steps >= LONGEST;
        rewards[k] = 1.0f;
        if (ended[k] || late[k]) begin(c);
        show(c, seen + 4 * k);
    }
}
