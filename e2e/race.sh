# What `make race` runs, on what is built: it waits for other processes half of its time, so it
# runs beside the others.
exec make -C "$TOP" --no-print-directory race-built
