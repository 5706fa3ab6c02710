#include "container.h"

#include <libavutil/display.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct TroikaVideo {
  Container container;
  int track;
  AVCodecContext *decoder;
  AVPacket *packet;
  AVFrame *current, *previous, *incoming;
  struct SwsContext *scaler;
  int draining, skipping;
  int64_t skip_key, highest_sent, next_time;
  TroikaVideoInfo info;
};

/// The EXIF orientation with which a display matrix shows the picture.
static int orientation_of(const int32_t *matrix) {
  // Columns of the 2x2 part: where x and y point on screen.
  int xx = (matrix[0] > 0) - (matrix[0] < 0), xy = (matrix[1] > 0) - (matrix[1] < 0);
  int yx = (matrix[3] > 0) - (matrix[3] < 0), yy = (matrix[4] > 0) - (matrix[4] < 0);
  if (llabs((long long)matrix[0]) >= llabs((long long)matrix[1])) {
    return xx >= 0 ? (yy >= 0 ? 1 : 4) : (yy >= 0 ? 2 : 3);
  }
  return xy >= 0 ? (yx >= 0 ? 5 : 6) : (yx >= 0 ? 8 : 7);
}

static void describe(TroikaVideo *self) {
  const AVStream *stream = self->container.format->streams[self->track];
  TroikaVideoInfo *info = &self->info;
  info->width = stream->codecpar->width;
  info->height = stream->codecpar->height;
  info->has_sound = container_track(&self->container, AVMEDIA_TYPE_AUDIO) >= 0;
  info->tick_numerator = stream->time_base.num;
  info->tick_denominator = stream->time_base.den;
  AVRational rate = stream->avg_frame_rate;
  if (rate.num <= 0 || rate.den <= 0) rate = stream->r_frame_rate;
  info->frames_per_second = rate.num > 0 && rate.den > 0 ? av_q2d(rate) : 0;
  info->container_seconds = container_seconds(&self->container, self->track);
  size_t size = 0;
  const uint8_t *matrix = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  info->orientation = matrix && size >= 36 ? orientation_of((const int32_t *)matrix) : 1;
}

TroikaVideo *troika_video_open(const char *path, int64_t max_pixels, TroikaMediaReport *report) {
  TroikaVideo *self = calloc(1, sizeof *self);
  if (!self) {
    memset(report, 0, sizeof *report);
    report_failure(report, TROIKA_MEDIA_MEMORY, "out of memory");
    return NULL;
  }
  if (container_open(&self->container, path, report)) {
    free(self);
    return NULL;
  }
  self->highest_sent = INT64_MIN;
  self->track = container_track(&self->container, AVMEDIA_TYPE_VIDEO);
  if (self->track < 0) {
    report_failure(report, TROIKA_MEDIA_NO_TRACK, "it has no picture track");
    troika_video_close(self);
    return NULL;
  }
  self->decoder = container_decoder(&self->container, self->track, 2, max_pixels, report);
  self->packet = av_packet_alloc();
  self->current = av_frame_alloc();
  self->previous = av_frame_alloc();
  self->incoming = av_frame_alloc();
  if (!self->decoder || !self->packet || !self->current || !self->previous || !self->incoming) {
    if (self->decoder) report_failure(report, TROIKA_MEDIA_MEMORY, "out of memory");
    troika_video_close(self);
    return NULL;
  }
  describe(self);
  for (unsigned i = 0; i < self->container.format->nb_streams; i++) {
    if ((int)i != self->track) self->container.format->streams[i]->discard = AVDISCARD_ALL;
  }
  return self;
}

TroikaVideoInfo troika_video_info(const TroikaVideo *self) { return self->info; }

/// The presentation time of the packet, or its decoding time where there is none.
static int64_t packet_time(const AVPacket *packet) {
  return packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
}

/// Reads the track's next packet; 1, or 0 at the end.
static int read_packet(TroikaVideo *self) {
  for (;;) {
    int status = av_read_frame(self->container.format, self->packet);
    if (status < 0) {
      if (status != AVERROR_EOF) self->info.read_failed = 1;
      return 0;
    }
    // An empty packet would tell the decoder that the track ends.
    if (self->packet->stream_index == self->track && self->packet->size > 0) return 1;
    av_packet_unref(self->packet);
  }
}

int troika_video_scan(TroikaVideo *self, TroikaPacket *out) {
  while (read_packet(self)) {
    const AVPacket *packet = self->packet;
    // Packets that an edit list leaves out, and ones that the file's end cuts off.
    int is_shown = !(packet->flags & (AV_PKT_FLAG_DISCARD | AV_PKT_FLAG_CORRUPT));
    out->presentation_time = packet->pts != AV_NOPTS_VALUE ? packet->pts : TROIKA_NO_TIME;
    out->decoding_time = packet->dts != AV_NOPTS_VALUE ? packet->dts : TROIKA_NO_TIME;
    out->duration = packet->duration > 0 ? packet->duration : 0;
    out->is_key = (packet->flags & AV_PKT_FLAG_KEY) != 0;
    av_packet_unref(self->packet);
    if (is_shown) return 1;
  }
  return 0;
}

void troika_video_skip_to(TroikaVideo *self, int64_t key) {
  if (key <= self->highest_sent || self->draining) return;
  self->skipping = 1;
  self->skip_key = key;
}

/// Feeds the decoder its next packet; at the end of the file it starts draining. 0 or -1.
static int feed(TroikaVideo *self) {
  while (read_packet(self)) {
    int64_t time = packet_time(self->packet);
    if (self->skipping) {
      int reached = (self->packet->flags & AV_PKT_FLAG_KEY) && time != AV_NOPTS_VALUE &&
        time >= self->skip_key;
      if (!reached) {
        av_packet_unref(self->packet);
        continue;
      }
      self->skipping = 0;
      avcodec_flush_buffers(self->decoder);
    }
    int status = avcodec_send_packet(self->decoder, self->packet);
    if (time != AV_NOPTS_VALUE && time > self->highest_sent) self->highest_sent = time;
    av_packet_unref(self->packet);
    if (status == AVERROR(ENOMEM)) return -1;
    if (status < 0 && status != AVERROR_EOF) self->info.damaged_packets++;
    return 0;
  }
  self->draining = 1;
  avcodec_send_packet(self->decoder, NULL);
  return 0;
}

/// The time of the incoming frame; frames without one follow their predecessor.
static int64_t frame_time(TroikaVideo *self) {
  const AVFrame *frame = self->incoming;
  int64_t time = frame->best_effort_timestamp;
  if (time == AV_NOPTS_VALUE) time = self->next_time;
  self->next_time = time + (frame->pkt_duration > 0 ? frame->pkt_duration : 1);
  return time;
}

int troika_video_next(TroikaVideo *self, int64_t *time) {
  for (;;) {
    int status = avcodec_receive_frame(self->decoder, self->incoming);
    if (status == 0) {
      *time = frame_time(self);
      AVFrame *freed = self->previous;
      av_frame_unref(freed);
      self->previous = self->current;
      self->current = self->incoming;
      self->incoming = freed;
      return 1;
    }
    if (status == AVERROR_EOF) return 0;
    if (status == AVERROR(ENOMEM)) return -1;
    if (status != AVERROR(EAGAIN)) {
      self->info.damaged_packets++;
      if (self->draining) return 0;
    } else if (self->draining) {
      return 0;
    }
    if (feed(self)) return -1;
  }
}

void troika_video_frame_size(const TroikaVideo *self, int previous, int *width, int *height) {
  const AVFrame *frame = previous ? self->previous : self->current;
  *width = frame->data[0] ? frame->width : 0;
  *height = frame->data[0] ? frame->height : 0;
}

/// The deprecated full-range formats under their plain names.
static enum AVPixelFormat plain_format(enum AVPixelFormat format, int *full_range) {
  switch (format) {
    case AV_PIX_FMT_YUVJ420P: *full_range = 1; return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P: *full_range = 1; return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P: *full_range = 1; return AV_PIX_FMT_YUV444P;
    case AV_PIX_FMT_YUVJ440P: *full_range = 1; return AV_PIX_FMT_YUV440P;
    case AV_PIX_FMT_YUVJ411P: *full_range = 1; return AV_PIX_FMT_YUV411P;
    default: return format;
  }
}

/// libswscale's number of the frame's colour matrix; unmarked clips by size, as players do.
static int matrix_of(const AVFrame *frame) {
  switch (frame->colorspace) {
    case AVCOL_SPC_BT709: return SWS_CS_ITU709;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M: return SWS_CS_ITU601;
    case AVCOL_SPC_SMPTE240M: return SWS_CS_SMPTE240M;
    case AVCOL_SPC_FCC: return SWS_CS_FCC;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL: return SWS_CS_BT2020;
    default: return frame->height >= 720 ? SWS_CS_ITU709 : SWS_CS_ITU601;
  }
}

int troika_video_rgba(TroikaVideo *self, int previous, uint8_t *out) {
  const AVFrame *frame = previous ? self->previous : self->current;
  int full_range = frame->color_range == AVCOL_RANGE_JPEG;
  enum AVPixelFormat format = plain_format(frame->format, &full_range);
  int flags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;
  self->scaler = sws_getCachedContext(
    self->scaler, frame->width, frame->height, format, frame->width, frame->height,
    AV_PIX_FMT_RGBA, flags, NULL, NULL, NULL);
  if (!self->scaler) return -1;
  const int *matrix = sws_getCoefficients(matrix_of(frame));
  sws_setColorspaceDetails(
    self->scaler, matrix, full_range, sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16);
  uint8_t *planes[4] = {out, NULL, NULL, NULL};
  int strides[4] = {frame->width * 4, 0, 0, 0};
  int rows = sws_scale(
    self->scaler, (const uint8_t *const *)frame->data, frame->linesize, 0, frame->height, planes,
    strides);
  return rows == frame->height ? 0 : -1;
}

void troika_video_close(TroikaVideo *self) {
  if (!self) return;
  sws_freeContext(self->scaler);
  av_frame_free(&self->current);
  av_frame_free(&self->previous);
  av_frame_free(&self->incoming);
  av_packet_free(&self->packet);
  avcodec_free_context(&self->decoder);
  container_close(&self->container);
  free(self);
}
