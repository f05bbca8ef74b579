#include <math.h>

#ifdef RBGYM_DOUBLE
typedef double real;
@DOUBLE@
#else
typedef float real;
@FLOAT@
#endif

/* What a policy keeps of the last control period; begun: whether there was one. time [s] of the last
   sample; timed: whether it had one. */
typedef struct {
    int begun, timed;
    double time;@MEMORY@
} rbgym_memory;

/* What came of a sample: commands; zeros, for it has numbers that are not finite; zeros, for it is not
   newer than the last by half a control period, or has no finite time; zeros, for its time is more
   than PATIENCE control periods away from the last. */
typedef enum { RBGYM_GOOD, RBGYM_BAD, RBGYM_STALE, RBGYM_JUMP } rbgym_status;

/* To be called where an episode or the control starts. */
void rbgym_begin(rbgym_memory *memory);

/* observation: as in the table above; action: what is commanded, each part within +-1, and zeros
   where an observation is no finite number. Each body has a memory of its own. */
void rbgym_act(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS]);

/* The same for a sample of the time [s], by one clock. Control periods that are missing before it count
   as bad samples. After a jump everything begins again, from the next sample on. */
rbgym_status rbgym_act_at(rbgym_memory *memory, double time, const real observation[OBSERVATIONS],
                          real action[ACTIONS]);
