#ifndef TROIKA_CONTAINER_H
#define TROIKA_CONTAINER_H

#include "CMediaContainer.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

/// A demuxer over a local file.
typedef struct {
  AVFormatContext *format;
  AVIOContext *io;
} Container;

/// Fills the report's status and reason.
void report_failure(TroikaMediaReport *report, TroikaMediaStatus status, const char *reason);

/// Opens a file by content only; 0, or -1 with the report filled.
int container_open(Container *container, const char *path, TroikaMediaReport *report);

void container_close(Container *container);

/// The default track of a kind, without cover pictures; below 0 when there is none.
int container_track(const Container *container, enum AVMediaType kind);

/// A decoder for a track, opened; NULL with the report filled. Cleared contexts are the
/// caller's to free.
AVCodecContext *container_decoder(
  const Container *container, int track, int threads, int64_t max_pixels,
  TroikaMediaReport *report);

/// Seconds that the track, or a container without other tracks, announces; below 0 for neither.
double container_seconds(const Container *container, int track);

#endif
