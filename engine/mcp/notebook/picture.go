package notebook

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // a format that is read
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // a format that is read
)

const (
	// maxSide is the longest side of an image that is shown, in pixels. Models see no
	// more of larger ones.
	maxSide = 1024
	// maxBytes is the largest image that is shown.
	maxBytes = 1 << 20
	// maxPixels is the largest image that is looked at at all.
	maxPixels = 32 << 20
)

// picture is an image as it is shown.
type picture struct {
	data []byte // nil = it is not shown; note says why
	mime string
	note string
}

// shrink makes an image one that can be shown.
func shrink(data []byte, kind string) *picture {
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return &picture{note: fmt.Sprintf("not shown: the %s cannot be read (%v)", kind, err)}
	}
	size := fmt.Sprintf("%d x %d", config.Width, config.Height)
	if config.Width <= 0 || config.Height <= 0 || config.Width > maxPixels/config.Height {
		return &picture{note: fmt.Sprintf("not shown: its %s pixels are too many", size)}
	}
	// Also one that is small enough is read to its end: a damaged one makes whole requests to models fail.
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return &picture{note: fmt.Sprintf("not shown: the %s cannot be read (%v)", kind, err)}
	}
	if longest(config.Width, config.Height) <= maxSide && len(data) <= maxBytes && (format == "png" || format == "jpeg") {
		return &picture{data: data, mime: "image/" + format, note: size}
	}
	p := fit(img, format == "jpeg")
	switch b := img.Bounds(); {
	case p.data == nil:
	case p.note != fmt.Sprintf("%d x %d", b.Dx(), b.Dy()):
		p.note = fmt.Sprintf("scaled from %s to %s", size, p.note)
	case p.mime != "image/"+format:
		p.note += ", shown as " + p.mime
	}
	return p
}

func longest(w, h int) int { return max(w, h) }

// fit scales and compresses until the image is small enough. Its note is its size.
func fit(img image.Image, photo bool) *picture {
	for side := maxSide; side >= 64; side /= 2 {
		small := scale(img, side)
		b := small.Bounds()
		note := fmt.Sprintf("%d x %d", b.Dx(), b.Dy())
		var out bytes.Buffer
		if !photo && png.Encode(&out, small) == nil && out.Len() <= maxBytes {
			return &picture{data: out.Bytes(), mime: "image/png", note: note}
		}
		out.Reset()
		if jpeg.Encode(&out, opaque(small), &jpeg.Options{Quality: 85}) == nil && out.Len() <= maxBytes {
			return &picture{data: out.Bytes(), mime: "image/jpeg", note: note}
		}
	}
	return &picture{note: "not shown: it cannot be made small enough"}
}

// scale makes the longest side at most side long.
func scale(img image.Image, side int) image.Image {
	b := img.Bounds()
	long := longest(b.Dx(), b.Dy())
	if long <= side {
		return img
	}
	w, h := max(1, b.Dx()*side/long), max(1, b.Dy()*side/long)
	small := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(small, small.Bounds(), img, b, draw.Src, nil)
	return small
}

// opaque puts an image on white, for JPEG knows no transparency.
func opaque(img image.Image) image.Image {
	b := img.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	draw.Draw(out, out.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(out, out.Bounds(), img, b.Min, draw.Over)
	return out
}
