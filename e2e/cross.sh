# Builds the program and the runtime for the systems on which no test runs.
exec make -C "$TOP" --no-print-directory cross
