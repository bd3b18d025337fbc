# What `make race` runs, on what is built: the tests once more, with the race detector.
exec make -C "$TOP" --no-print-directory race-built
