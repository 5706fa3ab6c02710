// What every processor runs.
#define LANES 4
#define TILE_ROWS 4
#define FUSED 0
#define TABLE tk_portable
#define TABLE_NAME "portable"
#include "vector.h"
#include "body_rows.h"
#include "body_tiles.h"
#include "body_half.h"
#include "body_formats.h"
#include "body_dot.h"
#include "body_fixed.h"
#include "body_table.h"
