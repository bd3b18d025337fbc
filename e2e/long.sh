# What `make long` runs, on what is built: most of it waits, so it runs beside the others.
exec make -C "$TOP" --no-print-directory long-built
