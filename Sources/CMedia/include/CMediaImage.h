#ifndef TROIKA_CMEDIA_IMAGE_H
#define TROIKA_CMEDIA_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/// The loaders that may be used; each is called by name, so nothing is guessed from content.
typedef enum {
  TROIKA_IMAGE_JPEG,
  TROIKA_IMAGE_PNG,
  TROIKA_IMAGE_WEBP,
  TROIKA_IMAGE_GIF,
  TROIKA_IMAGE_TIFF,
  TROIKA_IMAGE_HEIF,
} TroikaImageLoader;

/// What a file's header says, and how its rows come out.
typedef struct {
  int width, height;         ///< stored pixels, before orientation; one frame's height
  int orientation;           ///< EXIF 1-8
  int pages;                 ///< frames or pages in the file
  int colour_bands;          ///< 1 gray, 3 RGB, 4 CMYK
  int has_alpha;             ///< 1 when one more band of opacity follows the colour bands
  int bands;                 ///< samples per pixel as read, at least colour_bands + has_alpha
  int bytes_per_sample;      ///< 1 or 2
  const uint8_t *icc;        ///< embedded profile or NULL; lives as long as the image
  size_t icc_length;
} TroikaImageInfo;

typedef struct TroikaImage TroikaImage;

/// How to open.
enum {
  TROIKA_IMAGE_LENIENT = 1,    ///< a damaged stream is decoded as far as it goes
  TROIKA_IMAGE_ALL_FRAMES = 2, ///< all frames of a GIF or WebP, one below the other
};

/// Opens `bytes` (which must outlive the image) and reads its header; no pixel is decoded.
/// NULL on failure, with the reason in `error`.
TroikaImage *troika_image_open(
  const uint8_t *bytes, size_t length, TroikaImageLoader loader, int options,
  char *error, size_t error_capacity);

TroikaImageInfo troika_image_info(const TroikaImage *image);

/// Milliseconds for which frame `index` is announced to be shown, 0 when it is not.
int troika_image_delay(const TroikaImage *image, int index);

/// Replaces the image by its 8-bit sRGB rendering through the embedded profile.
/// Returns 0, or -1 with the reason when the profile does not fit the image.
int troika_image_apply_profile(TroikaImage *image, char *error, size_t error_capacity);

/// Copies `rows` rows from `top` into `out`, `width * bands * bytes_per_sample` bytes each.
/// Rows must be asked for from top to bottom. Returns 0, or -1 with the reason.
int troika_image_read_rows(
  TroikaImage *image, int top, int rows, uint8_t *out, char *error, size_t error_capacity);

void troika_image_close(TroikaImage *image);

#endif
