// The requests of a self-check are real ones, by the public address. Their events say so by their
// correlation, and no reactor handles these: nothing outside learns of them.

const prefix = "self-check-"

/** Names the requests of one self-check. */
export const selfCheckId = (id: string): string => `${prefix}${id}`

/** Whether a request, or what came of it, belongs to a self-check. */
export const isSelfCheck = (requestId: string): boolean => requestId.startsWith(prefix)
