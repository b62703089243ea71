/** The argument that starts this program as a worker; only another Latchkey process uses it. */
export const workerCommand = "__worker"
