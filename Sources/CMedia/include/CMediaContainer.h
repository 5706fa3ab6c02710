#ifndef TROIKA_CMEDIA_CONTAINER_H
#define TROIKA_CMEDIA_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

/// Why a container could not be used.
typedef enum {
  TROIKA_MEDIA_OK = 0,
  TROIKA_MEDIA_UNKNOWN,   ///< no demuxer recognises the content, or only a play list's does
  TROIKA_MEDIA_DAMAGED,   ///< recognised, but the headers or all of the data are broken
  TROIKA_MEDIA_NO_TRACK,  ///< no track of the wanted kind
  TROIKA_MEDIA_NO_DECODER,
  TROIKA_MEDIA_MEMORY,
} TroikaMediaStatus;

/// The outcome of opening: status, a short reason, the container's and the codec's name.
typedef struct {
  TroikaMediaStatus status;
  char reason[160];
  char format[64];
  char codec[32];
} TroikaMediaReport;

/// What tracks a container has; attached cover pictures do not count.
typedef struct {
  int has_picture;
  int has_sound;
} TroikaMediaTracks;

/// Looks into the file at `path`. The report tells whether that succeeded.
TroikaMediaTracks troika_media_tracks(const char *path, TroikaMediaReport *report);

typedef struct TroikaAudio TroikaAudio;

typedef struct {
  int sample_rate;           ///< the file's, in Hz
  int channels;              ///< the file's
  double container_seconds;  ///< announced for the track, below 0 when nothing is
  int is_trimmed;            ///< 1 when sound beyond `container_seconds` is the codec's padding
  double source_seconds;     ///< decoded so far
  double expected_samples;   ///< output samples that the decoded ones amount to
  int64_t damaged_packets;   ///< skipped so far
  int read_failed;           ///< 1 when reading ended with an error instead of at the end
} TroikaAudioInfo;

/// Opens the default sound track of the file at `path`. NULL on failure, see the report.
TroikaAudio *troika_audio_open(const char *path, int output_rate, TroikaMediaReport *report);

TroikaAudioInfo troika_audio_info(const TroikaAudio *audio);

/// Writes up to `capacity` mono samples at the output rate. Returns their count, 0 at the end,
/// -1 when memory or the resampler fails.
int troika_audio_read(TroikaAudio *audio, float *out, int capacity);

void troika_audio_close(TroikaAudio *audio);

typedef struct TroikaVideo TroikaVideo;

typedef struct {
  int width, height;         ///< stored pixels
  int orientation;           ///< EXIF orientation that equals the display matrix
  int has_sound;
  int tick_numerator, tick_denominator;  ///< seconds per tick
  double frames_per_second;  ///< average, 0 when unknown
  double container_seconds;  ///< announced for the track, below 0 when nothing is
  int64_t damaged_packets;   ///< skipped so far
  int read_failed;           ///< 1 when reading ended with an error instead of at the end
} TroikaVideoInfo;

/// Opens the default picture track of the file at `path`. NULL on failure, see the report.
TroikaVideo *troika_video_open(const char *path, int64_t max_pixels, TroikaMediaReport *report);

TroikaVideoInfo troika_video_info(const TroikaVideo *video);

/// What one packet's header says, in ticks.
typedef struct {
  int64_t presentation_time;  ///< TROIKA_NO_TIME when the container does not say
  int64_t decoding_time;      ///< TROIKA_NO_TIME when the container does not say
  int64_t duration;           ///< 0 when the container does not say
  int is_key;                 ///< 1 when decoding can start here
} TroikaPacket;

#define TROIKA_NO_TIME INT64_MIN

/// Reads one packet without decoding. Returns 1, or 0 at the end.
int troika_video_scan(TroikaVideo *video, TroikaPacket *packet);

/// Decoding goes on at the key packet with presentation time `key`; nothing between is decoded.
/// Does nothing when that packet has already been read.
void troika_video_skip_to(TroikaVideo *video, int64_t key);

/// Decodes the next frame in presentation order. Returns 1 with its time in ticks, 0 at the
/// end, -1 when memory fails. The frame before it stays available.
int troika_video_next(TroikaVideo *video, int64_t *time);

/// Size of the current frame, or of the one before it; 0 when there is none.
void troika_video_frame_size(const TroikaVideo *video, int previous, int *width, int *height);

/// Writes the current frame, or the one before it, as RGBA rows of `width * 4` bytes.
/// Returns 0, or -1 when its pixel format cannot be converted.
int troika_video_rgba(TroikaVideo *video, int previous, uint8_t *out);

void troika_video_close(TroikaVideo *video);

#endif
