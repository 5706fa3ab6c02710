#include "container.h"

#include <libavutil/avstring.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t quietened = PTHREAD_ONCE_INIT;

static void ignore_log(void *object, int level, const char *format, va_list arguments) {
  (void)object, (void)level, (void)format, (void)arguments;
}

static void quieten(void) { av_log_set_callback(ignore_log); }

void report_failure(TroikaMediaReport *report, TroikaMediaStatus status, const char *reason) {
  report->status = status;
  snprintf(report->reason, sizeof report->reason, "%s", reason);
}

/// Demuxers that open other files, turn any text into pictures, or read stills of other kinds.
static int is_refused(const char *name) {
  static const char *const refused[] = {
    "hls", "concat", "concatf", "dash", "image2", "image2pipe", "tty", "sdp", "rtsp", "imf",
    "rawvideo", "lavfi", "ffmetadata", "bin", "xbin", "adf", "idf", "ico", "fits", NULL,
  };
  for (int i = 0; refused[i]; i++) {
    if (av_match_name(refused[i], name)) return 1;
  }
  size_t length = strlen(name);
  return length > 5 && strcmp(name + length - 5, "_pipe") == 0;
}

static int open_format(Container *container, const char *path, TroikaMediaReport *report) {
  size_t capacity = strlen(path) + 6;
  char *url = malloc(capacity);
  if (!url) {
    report_failure(report, TROIKA_MEDIA_MEMORY, "out of memory");
    return -1;
  }
  snprintf(url, capacity, "file:%s", path);
  int status = avio_open2(&container->io, url, AVIO_FLAG_READ, NULL, NULL);
  free(url);
  if (status < 0) {
    report_failure(report, TROIKA_MEDIA_UNKNOWN, "it cannot be read");
    return -1;
  }
  const AVInputFormat *input = NULL;
  int score = av_probe_input_buffer2(container->io, &input, "", NULL, 0, 0);
  if (score < AVPROBE_SCORE_RETRY / 2 || !input || is_refused(input->name)) {
    report_failure(report, TROIKA_MEDIA_UNKNOWN, "its content is of no known kind");
    return -1;
  }
  snprintf(report->format, sizeof report->format, "%s", input->name);
  container->format = avformat_alloc_context();
  if (!container->format) {
    report_failure(report, TROIKA_MEDIA_MEMORY, "out of memory");
    return -1;
  }
  container->format->pb = container->io;
  container->format->protocol_whitelist = av_strdup("file");
  container->format->max_streams = 64;
  // On failure the context is freed and the pointer cleared.
  status = avformat_open_input(&container->format, "", input, NULL);
  if (status >= 0) status = avformat_find_stream_info(container->format, NULL);
  if (status < 0) {
    char text[AV_ERROR_MAX_STRING_SIZE] = {0};
    av_strerror(status, text, sizeof text);
    report_failure(report, TROIKA_MEDIA_DAMAGED, text);
    return -1;
  }
  return 0;
}

int container_open(Container *container, const char *path, TroikaMediaReport *report) {
  pthread_once(&quietened, quieten);
  memset(container, 0, sizeof *container);
  memset(report, 0, sizeof *report);
  if (open_format(container, path, report)) {
    container_close(container);
    return -1;
  }
  return 0;
}

void container_close(Container *container) {
  if (container->format) avformat_close_input(&container->format);
  if (container->io) avio_closep(&container->io);
}

int container_track(const Container *container, enum AVMediaType kind) {
  AVFormatContext *format = container->format;
  int best = av_find_best_stream(format, kind, -1, -1, NULL, 0);
  if (best >= 0 && !(format->streams[best]->disposition & AV_DISPOSITION_ATTACHED_PIC)) return best;
  for (unsigned i = 0; i < format->nb_streams; i++) {
    const AVStream *stream = format->streams[i];
    if (stream->codecpar->codec_type == kind &&
        !(stream->disposition & AV_DISPOSITION_ATTACHED_PIC)) {
      return (int)i;
    }
  }
  return -1;
}

AVCodecContext *container_decoder(
    const Container *container, int track, int threads, int64_t max_pixels,
    TroikaMediaReport *report) {
  const AVStream *stream = container->format->streams[track];
  const AVCodecParameters *parameters = stream->codecpar;
  snprintf(report->codec, sizeof report->codec, "%s", avcodec_get_name(parameters->codec_id));
  const AVCodec *codec = avcodec_find_decoder(parameters->codec_id);
  if (!codec) {
    report_failure(report, TROIKA_MEDIA_NO_DECODER, "there is no decoder for its codec");
    return NULL;
  }
  AVCodecContext *decoder = avcodec_alloc_context3(codec);
  if (!decoder) {
    report_failure(report, TROIKA_MEDIA_MEMORY, "out of memory");
    return NULL;
  }
  int status = avcodec_parameters_to_context(decoder, parameters);
  decoder->pkt_timebase = stream->time_base;
  decoder->thread_count = threads;
  if (max_pixels > 0) decoder->max_pixels = max_pixels;
  if (status >= 0) status = avcodec_open2(decoder, codec, NULL);
  if (status < 0) {
    avcodec_free_context(&decoder);
    report_failure(report, TROIKA_MEDIA_DAMAGED, "its decoder does not start");
    return NULL;
  }
  return decoder;
}

double container_seconds(const Container *container, int track) {
  const AVStream *stream = container->format->streams[track];
  if (stream->duration != AV_NOPTS_VALUE && stream->duration > 0) {
    return stream->duration * av_q2d(stream->time_base);
  }
  // With several tracks, the container's duration may be another one's.
  if (container->format->nb_streams > 1) return -1;
  int64_t duration = container->format->duration;
  return duration != AV_NOPTS_VALUE && duration > 0 ? duration / (double)AV_TIME_BASE : -1;
}

TroikaMediaTracks troika_media_tracks(const char *path, TroikaMediaReport *report) {
  TroikaMediaTracks tracks = {0, 0};
  Container container;
  if (container_open(&container, path, report)) return tracks;
  tracks.has_picture = container_track(&container, AVMEDIA_TYPE_VIDEO) >= 0;
  tracks.has_sound = container_track(&container, AVMEDIA_TYPE_AUDIO) >= 0;
  container_close(&container);
  return tracks;
}
