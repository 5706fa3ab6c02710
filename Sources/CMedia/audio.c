#include "container.h"

#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/// A growing run of samples, read from the front.
typedef struct {
  float *samples;
  int start, count, capacity;
} Samples;

struct TroikaAudio {
  Container container;
  int track;
  AVCodecContext *decoder;
  AVPacket *packet;
  AVFrame *frame;
  SwrContext *resampler;
  int resampler_rate, output_rate, run_rate;
  int64_t run_samples;
  double seconds_before_run;
  int draining, finished, failed;
  Samples mono, ready;
  TroikaAudioInfo info;
};

static float *samples_reserve(Samples *samples, int extra) {
  if (samples->start > 0) {
    memmove(
      samples->samples, samples->samples + samples->start, samples->count * sizeof(float));
    samples->start = 0;
  }
  if (extra > INT_MAX / 8 - samples->count) return NULL;
  if (samples->count + extra > samples->capacity) {
    int capacity = (samples->count + extra) * 2;
    float *grown = realloc(samples->samples, (size_t)capacity * sizeof(float));
    if (!grown) return NULL;
    samples->samples = grown;
    samples->capacity = capacity;
  }
  return samples->samples + samples->count;
}

TroikaAudio *troika_audio_open(const char *path, int output_rate, TroikaMediaReport *report) {
  TroikaAudio *self = calloc(1, sizeof *self);
  if (!self) {
    memset(report, 0, sizeof *report);
    report_failure(report, TROIKA_MEDIA_MEMORY, "out of memory");
    return NULL;
  }
  if (container_open(&self->container, path, report)) {
    free(self);
    return NULL;
  }
  self->output_rate = output_rate;
  self->track = container_track(&self->container, AVMEDIA_TYPE_AUDIO);
  if (self->track < 0) {
    report_failure(report, TROIKA_MEDIA_NO_TRACK, "it has no sound track");
    troika_audio_close(self);
    return NULL;
  }
  self->decoder = container_decoder(&self->container, self->track, 1, 0, report);
  self->packet = av_packet_alloc();
  self->frame = av_frame_alloc();
  if (!self->decoder || !self->packet || !self->frame) {
    if (self->decoder) report_failure(report, TROIKA_MEDIA_MEMORY, "out of memory");
    troika_audio_close(self);
    return NULL;
  }
  const AVCodecParameters *parameters =
    self->container.format->streams[self->track]->codecpar;
  self->info.sample_rate = parameters->sample_rate;
  self->info.channels = parameters->ch_layout.nb_channels;
  self->info.container_seconds = container_seconds(&self->container, self->track);
  self->info.is_trimmed = strncmp(report->format, "mov,mp4", 7) == 0;
  for (unsigned i = 0; i < self->container.format->nb_streams; i++) {
    if ((int)i != self->track) self->container.format->streams[i]->discard = AVDISCARD_ALL;
  }
  return self;
}

TroikaAudioInfo troika_audio_info(const TroikaAudio *self) { return self->info; }

/// Sample `index` of one channel of a frame, -1 to 1.
static float sample(const AVFrame *frame, int channel, int index) {
  enum AVSampleFormat format = frame->format;
  int planar = av_sample_fmt_is_planar(format);
  int channels = frame->ch_layout.nb_channels;
  const uint8_t *data = frame->extended_data[planar ? channel : 0];
  size_t at = planar ? (size_t)index : (size_t)index * channels + channel;
  switch (av_get_packed_sample_fmt(format)) {
    case AV_SAMPLE_FMT_U8: return (data[at] - 128) / 128.0f;
    case AV_SAMPLE_FMT_S16: return ((const int16_t *)data)[at] / 32768.0f;
    case AV_SAMPLE_FMT_S32: return (float)(((const int32_t *)data)[at] / 2147483648.0);
    case AV_SAMPLE_FMT_S64: return (float)(((const int64_t *)data)[at] / 9223372036854775808.0);
    case AV_SAMPLE_FMT_FLT: return ((const float *)data)[at];
    case AV_SAMPLE_FMT_DBL: return (float)((const double *)data)[at];
    default: return 0;
  }
}

/// A channel's share in the downmix of more than two, before normalisation.
static float channel_weight(const AVChannelLayout *layout, int channel) {
  switch (av_channel_layout_channel_from_index(layout, (unsigned)channel)) {
    case AV_CHAN_FRONT_CENTER: return 1;
    case AV_CHAN_LOW_FREQUENCY:
    case AV_CHAN_LOW_FREQUENCY_2: return 0;
    case AV_CHAN_FRONT_LEFT:
    case AV_CHAN_FRONT_RIGHT: return 0.70710678f;
    default: return 0.5f;
  }
}

/// Appends the frame's mono mix to `mono`; 0 or -1.
static int downmix(TroikaAudio *self, const AVFrame *frame) {
  int channels = frame->ch_layout.nb_channels, count = frame->nb_samples;
  if (channels <= 0 || count <= 0) return 0;
  float *out = samples_reserve(&self->mono, count);
  if (!out) return -1;
  memset(out, 0, (size_t)count * sizeof(float));
  int named = channels > 2 && frame->ch_layout.order != AV_CHANNEL_ORDER_UNSPEC;
  float total = 0;
  for (int channel = 0; channel < channels; channel++) {
    total += named ? channel_weight(&frame->ch_layout, channel) : 1;
  }
  if (total <= 0) named = 0, total = (float)channels;
  for (int channel = 0; channel < channels; channel++) {
    float weight = (named ? channel_weight(&frame->ch_layout, channel) : 1) / total;
    if (weight == 0) continue;
    for (int i = 0; i < count; i++) out[i] += weight * sample(frame, channel, i);
  }
  // Floating-point files may hold infinities and NaN.
  for (int i = 0; i < count; i++) {
    if (!(out[i] >= -1e6f && out[i] <= 1e6f)) out[i] = 0;
  }
  self->mono.count += count;
  return 0;
}

static int start_resampler(TroikaAudio *self, int rate) {
  AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO;
  swr_free(&self->resampler);
  int status = swr_alloc_set_opts2(
    &self->resampler, &mono, AV_SAMPLE_FMT_FLT, self->output_rate, &mono, AV_SAMPLE_FMT_FLT,
    rate, 0, NULL);
  if (status < 0) return -1;
  av_opt_set_int(self->resampler, "filter_size", 64, 0);
  av_opt_set_double(self->resampler, "cutoff", 0.97, 0);
  av_opt_set_int(self->resampler, "exact_rational", 1, 0);
  self->resampler_rate = rate;
  return swr_init(self->resampler) < 0 ? -1 : 0;
}

/// Moves `mono` through the resampler, or the rest out of it when `mono` is empty.
static int resample(TroikaAudio *self) {
  int count = self->mono.count;
  int room = swr_get_out_samples(self->resampler, count);
  if (room < 0) return -1;
  float *out = samples_reserve(&self->ready, room + 16);
  if (!out) return -1;
  const uint8_t *input = (const uint8_t *)(self->mono.samples + self->mono.start);
  uint8_t *output = (uint8_t *)out;
  int got = swr_convert(
    self->resampler, &output, room + 16, count > 0 ? &input : NULL, count);
  if (got < 0) return -1;
  self->ready.count += got;
  self->mono.count = 0;
  return 0;
}

/// Keeps the decoded duration free of accumulated rounding while the rate stays the same.
static void count_source(TroikaAudio *self, int samples, int rate) {
  if (rate != self->run_rate) {
    self->seconds_before_run = self->info.source_seconds;
    self->run_samples = 0;
    self->run_rate = rate;
  }
  self->run_samples += samples;
  self->info.source_seconds = self->seconds_before_run + self->run_samples / (double)rate;
  self->info.expected_samples = self->seconds_before_run * self->output_rate +
    self->run_samples * (double)self->output_rate / rate;
}

static int take_frame(TroikaAudio *self) {
  int rate = self->frame->sample_rate > 0 ? self->frame->sample_rate : self->info.sample_rate;
  if (rate < 100 || rate > 10000000) return -1;
  if (self->info.sample_rate <= 0) self->info.sample_rate = rate;
  if (self->resampler && rate != self->resampler_rate && resample(self)) return -1;
  if (downmix(self, self->frame)) return -1;
  count_source(self, self->frame->nb_samples, rate);
  if (rate == self->output_rate) {
    float *out = samples_reserve(&self->ready, self->mono.count);
    if (!out) return -1;
    memcpy(
      out, self->mono.samples + self->mono.start, (size_t)self->mono.count * sizeof(float));
    self->ready.count += self->mono.count;
    self->mono.count = 0;
    swr_free(&self->resampler);
    return 0;
  }
  if ((!self->resampler || rate != self->resampler_rate) && start_resampler(self, rate)) return -1;
  return resample(self);
}

/// Feeds the decoder one packet of the track; at the end of the file it starts draining.
static int feed(TroikaAudio *self) {
  for (;;) {
    int status = av_read_frame(self->container.format, self->packet);
    if (status < 0) {
      self->info.read_failed = status != AVERROR_EOF;
      self->draining = 1;
      avcodec_send_packet(self->decoder, NULL);
      return 0;
    }
    // An empty packet would tell the decoder that the track ends.
    int ours = self->packet->stream_index == self->track && self->packet->size > 0;
    if (ours) status = avcodec_send_packet(self->decoder, self->packet);
    av_packet_unref(self->packet);
    if (!ours) continue;
    if (status == AVERROR(ENOMEM)) return -1;
    if (status < 0) self->info.damaged_packets++;
    return 0;
  }
}

/// Decodes until samples are ready or the track ends; 0 or -1.
static int advance(TroikaAudio *self) {
  while (self->ready.count == 0 && !self->finished) {
    int status = avcodec_receive_frame(self->decoder, self->frame);
    if (status == 0) {
      int taken = take_frame(self);
      av_frame_unref(self->frame);
      if (taken) return -1;
    } else if (status == AVERROR_EOF) {
      self->finished = 1;
      if (self->resampler && resample(self)) return -1;
    } else if (status == AVERROR(EAGAIN) && !self->draining) {
      if (feed(self)) return -1;
    } else {
      self->info.damaged_packets++;
      if (self->draining) self->finished = 1;
      else if (feed(self)) return -1;
    }
  }
  return 0;
}

int troika_audio_read(TroikaAudio *self, float *out, int capacity) {
  if (self->failed || advance(self)) {
    self->failed = 1;
    return -1;
  }
  int count = self->ready.count < capacity ? self->ready.count : capacity;
  if (count > 0) {
    memcpy(out, self->ready.samples + self->ready.start, (size_t)count * sizeof(float));
  }
  self->ready.start += count;
  self->ready.count -= count;
  return count;
}

void troika_audio_close(TroikaAudio *self) {
  if (!self) return;
  swr_free(&self->resampler);
  av_frame_free(&self->frame);
  av_packet_free(&self->packet);
  avcodec_free_context(&self->decoder);
  container_close(&self->container);
  free(self->mono.samples);
  free(self->ready.samples);
  free(self);
}
