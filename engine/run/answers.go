package run

import (
	"bufio"
	"io"
	"net/http"
	"strings"

	"github.com/seer-engine/seer/engine/namesearch"
	"github.com/seer-engine/seer/engine/notebook"
	"github.com/seer-engine/seer/engine/protocol"
)

// answers counts the names in what one connection answers: HTTP, and after an upgrade
// whatever follows, as it stands.
func (s *sightings) answers(place string, r io.Reader) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		if head, _ := in.Peek(5); string(head) != "HTTP/" {
			s.plain(place, in)
			return
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
			s.plain(place, in)
			return
		}
		s.answer(place, resp)
		_ = resp.Body.Close()
	}
}

// answer counts the names in one answer, as the agent's program reads it.
func (s *sightings) answer(place string, resp *http.Response) {
	body := unpacked(resp)
	kind := resp.Header.Get("Content-Type")
	switch {
	case resp.Header.Get(notebook.HeaderVersion) != "": // read again after each output, to be saved
		s.most(fromSaved, s.texts(body))
	case strings.Contains(kind, "json"):
		s.add(place, s.texts(body))
	case resp.Header.Get(protocol.HeaderOffset) != "":
		s.add(place, s.records(body))
	default:
		s.plain(place, body)
	}
}

func (s *sightings) plain(place string, r io.Reader) {
	c := s.names.NewCounter()
	_, _ = io.Copy(c, r)
	s.add(place, c.Count())
}

// records counts the names in output of processes, of which each stream is a text.
func (s *sightings) records(body io.Reader) int {
	streams := map[protocol.RecordStream]*namesearch.Counter{}
	count := func() (n int) {
		for _, c := range streams {
			n += c.Count()
		}
		return n
	}
	for r := protocol.NewRecordReader(body); ; {
		stream, data, err := r.Next()
		if err != nil {
			return count()
		}
		if stream == protocol.RecordEnd {
			continue // the process, not what it has said
		}
		if streams[stream] == nil {
			streams[stream] = s.names.NewCounter()
		}
		_, _ = streams[stream].Write(data)
	}
}

// apart stands between two texts, so that no name is found across them.
const apart = "\n\n\n\n\n"

// texts counts the names in the texts of JSON values. Under the key text, as a notebook's
// streams have it, one text goes on in the next.
func (s *sightings) texts(body io.Reader) int {
	streams, others := s.names.NewCounter(), s.names.NewCounter()
	r := textReader{in: bufio.NewReaderSize(body, 64<<10)}
	key := ""
	for {
		text, isKey, err := r.next(others)
		switch {
		case isKey:
			key = string(text)
			_, _ = io.WriteString(others, key+apart)
		case isPicture(key):
		case key == "text":
			_, _ = streams.Write(text)
		default:
			_, _ = others.Write(text)
			_, _ = io.WriteString(others, apart)
		}
		if err != nil {
			return streams.Count() + others.Count()
		}
	}
}

// isPicture reports whether the value of a key is a picture or the like in base64.
func isPicture(key string) bool {
	kind, _, _ := strings.Cut(key, "/")
	return (kind == "image" || kind == "audio" || kind == "video") && key != "image/svg+xml"
}
