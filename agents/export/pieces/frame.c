#include <math.h>

#ifdef RBGYM_DOUBLE
typedef double real;
@DOUBLE@
#else
typedef float real;
@FLOAT@
#endif

/* What a policy keeps of the last control period; begun: whether there was one. */
typedef struct {
    int begun;@MEMORY@
} rbgym_memory;

/* To be called where an episode or the control starts. */
void rbgym_begin(rbgym_memory *memory);

/* observation: as in the table above; action: what is commanded, each part within +-1, and zeros
   where an observation is no finite number. Each body has a memory of its own. */
void rbgym_act(rbgym_memory *memory, const real observation[OBSERVATIONS], real action[ACTIONS]);
