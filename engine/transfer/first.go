package transfer

// First is the source of the first n bytes of the file alone.
func (s Source) First(n int64) Source {
	if s.Content != nil {
		s.Content = s.Content[:min(n, int64(len(s.Content)))]
		return s
	}
	s.beginning = true
	parts := s.Parts
	s.Parts = nil
	for _, p := range parts {
		if n <= 0 {
			break
		}
		p.Length = min(p.Length, n)
		n -= p.Length
		s.Parts = append(s.Parts, p)
	}
	return s
}
