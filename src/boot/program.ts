/** What this program is started with to be a worker: by another one of its kind, never by hand. */
export const workerWord = "__worker"
