// What the two forms of attention share.
#ifndef TROIKA_ATTENTION_H
#define TROIKA_ATTENTION_H

#include "kernels.h"

/// Position of the first key that any query sees.
int64_t tk_first_position(const tk_attention *p);

/// What a mask has below this hides a key: its share is 0 beside any that is seen.
#define TK_HIDDEN (-16384.0f)

/// First and past-the-last key that a masked token sees; all keys where it sees none.
void tk_masked_range(const tk_attention *p, size_t token, size_t *from, size_t *to);

/// Whether the form for few queries takes a problem, its scratch bytes, and the form itself.
bool tk_attends_few(const tk_kernels *kernels, const tk_attention *p);
size_t tk_few_scratch(const tk_pool *pool, const tk_attention *p);
void tk_attend_few(tk_pool *pool, const tk_attention *p, void *scratch);

#endif
