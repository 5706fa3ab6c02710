#ifndef TROIKA_CMEDIA_H
#define TROIKA_CMEDIA_H

// Plain C functions over libvips and FFmpeg, whose own interfaces are variadic or macro based.
// Nothing here prints, exits or keeps per-file state beyond the handle it returns.

#include "CMediaContainer.h"
#include "CMediaImage.h"
#include "CMediaResize.h"

#endif
