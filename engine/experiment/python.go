package experiment

import (
	"slices"
	"strings"
)

// identifier reports whether word is a Python identifier of ASCII letters,
// which is what a module, a tool and a file name can all be.
func identifier(word string) bool {
	for i, r := range word {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return word != ""
}

func pythonKeyword(word string) bool {
	return slices.Contains(strings.Fields(`False None True and as assert async await break class continue def del elif
		else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield`), word)
}

// pythonStdlib reports whether import word would be expected to give a module
// of the standard library, of any Python from 3.8 to 3.13.
func pythonStdlib(word string) bool {
	return slices.Contains(strings.Fields(`abc aifc antigravity argparse array ast asynchat asyncio asyncore atexit
		audioop base64 bdb binascii binhex bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs
		codeop collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg crypt csv
		ctypes curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno
		faulthandler fcntl filecmp fileinput fnmatch formatter fractions ftplib functools gc genericpath getopt getpass
		gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io
		ipaddress itertools json keyword lib2to3 linecache locale logging lzma macpath mailbox mailcap marshal math
		mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode
		operator optparse os ossaudiodev parser pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib
		posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re
		readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site
		sitecustomize smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat
		statistics string stringprep struct subprocess sunau symbol symtable sys sysconfig syslog tabnanny tarfile
		telnetlib tempfile termios textwrap this threading time timeit tkinter token tokenize tomllib trace traceback
		tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib usercustomize uu uuid venv warnings
		wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo`), word)
}
