package value

import "slices"

func (r reader) frame(n node) (any, error) {
	f := frameNode{columns: n.at("columns"), data: n.at("data"), index: n.at("index"), dtypes: n.at("dtypes"), names: n.at("names")}
	if f.columns.kind != '[' || f.data.kind != '[' || len(f.columns.items) != len(f.data.items) || !f.dtypes.texts(len(f.data.items)) {
		return nil, malformed("a frame needs columns, and data and a dtype for each of them")
	}
	count := -1
	for _, column := range f.data.items {
		n, err := r.length(column)
		if err != nil {
			return nil, err
		}
		if count >= 0 && n != count {
			return nil, malformed("the columns of a frame have not the same length")
		}
		count = n
	}
	return f, r.checkIndex(f.index, f.names, count)
}

func (r reader) series(n node) (any, error) {
	s := seriesNode{name: n.at("name"), data: n.at("data"), index: n.at("index"), dtype: n.at("dtype"), names: n.at("names")}
	if s.dtype.kind != '"' && !s.dtype.missing() {
		return nil, malformed("a series needs data and a dtype")
	}
	count, err := r.length(s.data)
	if err != nil {
		return nil, err
	}
	return s, r.checkIndex(s.index, s.names, count)
}

// missing tells whether there is nothing: no field, or null.
func (n node) missing() bool { return n.kind == 0 || n.kind == '0' && n.text == "null" }

// texts tells whether a list has count texts, or none.
func (n node) texts(count int) bool {
	if n.missing() {
		return true
	}
	isText := func(item node) bool { return item.kind == '"' }
	return n.kind == '[' && (len(n.items) == 0 || len(n.items) == count) && !slices.ContainsFunc(n.items, func(i node) bool { return !isText(i) })
}

// length is how many values a column has: a list, or an array of one dimension.
func (r reader) length(n node) (int, error) {
	if n.kind == '[' {
		return len(n.items), nil
	}
	v, _, err := r.tag(n)
	if err != nil {
		return 0, err
	}
	if a, ok := v.(Array); ok && len(a.Shape) == 1 {
		return int(a.Shape[0]), nil
	}
	return 0, malformed("a column must be a list or an array of one dimension")
}

// levels are the columns of an index.
func levels(index, names node) []node {
	switch {
	case index.missing():
		return nil
	case len(names.items) > 1:
		return index.items
	}
	return []node{index}
}

// checkIndex refuses an index that does not fit count rows; -1 = any number.
func (r reader) checkIndex(index, names node, count int) error {
	if names.kind != '[' && !names.missing() {
		return malformed("the names of an index must be a list")
	}
	if len(names.items) > 1 && !index.missing() && (index.kind != '[' || len(index.items) != len(names.items)) {
		return malformed("an index of several levels needs a list for each of them")
	}
	for _, level := range levels(index, names) {
		n, err := r.length(level)
		if err != nil {
			return err
		}
		if count >= 0 && n != count {
			return malformed("an index has %d values for %d rows", n, count)
		}
		count = n
	}
	return nil
}
